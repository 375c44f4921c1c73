import type { ErrorTexts } from './texts.ts'

/** Refusals: 401 to 429. Spec 7. */
export const refusals = {
  Unauthorized: {
    status: 401,
    title: 'The request carries no valid key',
    explanation: 'A key is missing, malformed, unknown or revoked; the answer is the same for all four.',
    remedy: 'Send the header Authorization: ApiKey <key>, with a key that the operator of the server has issued.',
  },
  Forbidden: {
    status: 403,
    title: 'The key has no right to this',
    explanation: 'A key has rights to read or to write, for each entity or for all. To write does not include to read.',
    remedy: 'Ask the operator who issued the key for the right that the message names.',
  },
  NotFound: {
    status: 404,
    title: 'There is nothing at this address',
    explanation: 'The path is unknown, or no row has this id.',
    remedy: 'Look at the path’s spelling; a row may have been deleted.',
  },
  MethodNotAllowed: {
    status: 405,
    title: 'The path does not have this method',
    explanation: 'Collections have GET and POST, single rows GET, PUT, PATCH and DELETE, pages GET.',
    remedy: 'Use a method that the header Allow lists.',
  },
  ReadOnly: {
    status: 405,
    title: 'The database of this server takes no writes',
    explanation:
      'It is a standby that follows another database, or its operator has made it read-only. Nothing was written. Reads are answered.',
    remedy: 'Send writes to the server of the primary database; the operator knows its address.',
  },
  RequestTimeout: {
    status: 408,
    title: 'The body took too long to arrive',
    explanation: 'A body must arrive within 10 seconds.',
    remedy: 'Send the request again, on a connection that is fast enough.',
  },
  Conflict: {
    status: 409,
    title: 'The write does not agree with what is stored',
    explanation: 'A rule of the table refused it, such as a value that must be unique. Nothing was written.',
    remedy: 'Read what is stored, and send a value that agrees with it.',
  },
  AlreadyExists: {
    status: 409,
    title: 'Another row has this value already',
    explanation: 'The property is unique: no two rows have the same value. Nothing was written.',
    remedy: 'Look for the row with a filter on the property, and change that; or send another value.',
  },
  ReferenceNotFound: {
    status: 409,
    title: 'A reference names no row',
    explanation: 'The property holds the id of another entity, and there is no row with that id. Nothing was written.',
    remedy: 'Create the row that it refers to first, or send the id of one that is there, or null.',
  },
  StillReferenced: {
    status: 409,
    title: 'Other rows refer to this one',
    explanation: 'Rows of the same or another entity hold this row’s id. Nothing was deleted.',
    remedy: 'Delete or change the rows that refer to it first.',
  },
  InProgress: {
    status: 409,
    title: 'The first request with this Idempotency-Key is under way',
    explanation: 'Another request with the same key has not ended. Nothing was done for this one.',
    remedy: 'Retry after the seconds in the header Retry-After: the answer is then that of the first request.',
  },
  TokenExpired: {
    status: 410,
    title: 'Changes behind this token may be missing',
    explanation:
      'The token is older than the changes that are kept, or of another run of them: the database was restored, or was served without keeping changes. Not all that has changed since is known.',
    remedy: 'Ask for a new token with after=now, then read the lists whole, and follow the changes from that token on.',
  },
  PreconditionFailed: {
    status: 412,
    title: 'The row has another version than the request asks for',
    explanation:
      'The row was changed since it was read: its version is not one that If-Match names, or is one that If-None-Match rules out. Nothing was written.',
    remedy: 'Read the row again, repeat the change on what it is now, and send it with the new ETag in If-Match.',
  },
  PayloadTooLarge: {
    status: 413,
    title: 'The body is too large',
    explanation: 'A body may have up to 1 MiB; one of several rows that are created, up to 2 MiB, and each row up to 1 MiB.',
    remedy: 'Send less, or rows by several requests; no entity needs as much.',
  },
  UriTooLong: {
    status: 414,
    title: 'The request target is too long',
    explanation: 'Path and query string together, percent-encoded, may have up to 3 KiB: the links of a page repeat them.',
    remedy: 'Send fewer or shorter filters and sort definitions.',
  },
  UnsupportedMediaType: {
    status: 415,
    title: 'The body is not declared as JSON',
    explanation:
      'A body is declared as application/json, or where rows are created, as application/x-ndjson, with charset=utf-8 or without, and is not compressed.',
    remedy: 'Send the header Content-Type: application/json, and no Content-Encoding.',
  },
  IdempotencyMismatch: {
    status: 422,
    title: 'The Idempotency-Key was used for another request',
    explanation: 'A write with this key was done within the last 24 hours, and its method, path or body was another one.',
    remedy: 'Send a new key with each new write; the same one only with the same method, path and body.',
  },
  RateLimitExceeded: {
    status: 429,
    title: 'Too many requests',
    explanation:
      'The message names the limit that was reached. Nothing was charged. Requests without a valid key are counted by address.',
    remedy: 'Wait for the seconds in the headers RetryAfter and Retry-After; then the request is admitted.',
  },
} as const satisfies Record<string, ErrorTexts>
