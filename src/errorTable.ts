/** Every error that a client can get: its status; what it means, why it is so, and what to do, for its page. Spec 7. */
export const errorTable = {
  InvalidHost: {
    status: 400,
    title: 'The Host header is not valid',
    explanation: 'The request has no Host header, several of them, or one that is no name or address.',
    remedy: 'Send one Host header with the name or address of this server, and the port if it is not the default.',
  },
  InvalidHeader: {
    status: 400,
    title: 'A header is not valid',
    explanation:
      'The message names the header, and what it allows. If-Match and If-None-Match are * or tags in double quotes, Idempotency-Key is one text of 1 to 255 characters.',
    remedy: 'Send the header as the message says, or leave it out; a tag as ETag has it, with its quotes.',
  },
  InvalidQueryString: {
    status: 400,
    title: 'The query string could not be decoded',
    explanation: 'Percent escapes are a % and two hexadecimal digits; the bytes they stand for must be UTF-8.',
    remedy: 'Percent-encode names and values: a % is %25, a plus is %2B.',
  },
  UnknownParameter: {
    status: 400,
    title: 'The collection has no such query parameter',
    explanation:
      'Parameters are sort, PageSize, page, cursor and the properties of the entity. An unknown one is refused, since a misspelt filter would return everything.',
    remedy:
      'Take the name that the message suggests, or one of the entity’s properties. An address of one row takes none.',
  },
  InvalidFilter: {
    status: 400,
    title: 'A filter does not fit its property',
    explanation:
      'A filter is <Property>=[<operator>]<value>. The operators are = != < <= > >=; the value must be of the property’s type; true and false have no order; < and its like need a value.',
    remedy:
      'Correct the value as the message says. Operators stand behind the first = and are percent-encoded: < is %3C.',
  },
  TooManyFilters: {
    status: 400,
    title: 'The request has too many filters',
    explanation: 'One request may have up to 32 filters.',
    remedy: 'Leave filters out, or send several requests.',
  },
  InvalidSort: {
    status: 400,
    title: 'A sort definition is not valid',
    explanation:
      'sort is a comma-separated list of + or - and the name of a primitive property, an object’s parts with a dot: sort=-Start,+Period.Days.',
    remedy: 'Take the name that the message suggests, or one of the entity’s properties.',
  },
  InvalidPageSize: {
    status: 400,
    title: 'PageSize is not an integer',
    explanation: 'PageSize is an integer, given once. Values outside 5 to 50 are set to the nearest boundary.',
    remedy: 'Send a number from 5 to 50, or leave PageSize out for pages of 20.',
  },
  InvalidPage: {
    status: 400,
    title: 'page is not an integer of 1 or more',
    explanation: 'page is an integer from 1 upwards, given once. A page past the last is empty.',
    remedy: 'Follow the links of a page, or count from 1.',
  },
  InvalidCursor: {
    status: 400,
    title: 'The cursor is not one of this list',
    explanation:
      'A cursor comes from the next or previous link of a page, and belongs to that collection with those filters and that sort.',
    remedy: 'Follow the link as it stands, or leave cursor out: page alone leads to a page.',
  },
  InvalidJson: {
    status: 400,
    title: 'The body is not a JSON object',
    explanation: 'The body is empty, no JSON, not encoded in UTF-8, or another value than an object.',
    remedy: 'Send one JSON object, encoded in UTF-8.',
  },
  UnknownProperty: {
    status: 400,
    title: 'The entity has no such property',
    explanation: 'Property names are those of the entity, in upper or lower case.',
    remedy: 'Take the name that the message suggests; leave out what the entity does not have.',
  },
  DuplicateProperty: {
    status: 400,
    title: 'A property is given twice',
    explanation: 'Two names of one body differ only by case; it is not clear which one counts.',
    remedy: 'Send the property once.',
  },
  InvalidValue: {
    status: 400,
    title: 'A value does not fit its property',
    explanation:
      'The value is not of the property’s type, or outside of what it allows. The message names the property and what it allows.',
    remedy: 'Correct the value as the message says.',
  },
  ValidationFailed: {
    status: 400,
    title: 'The body has several faults',
    explanation: 'Details lists all of them, each with a code, a target and a message.',
    remedy: 'Correct each property that Details names.',
  },
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
    explanation: 'A body may have up to 1 MiB.',
    remedy: 'Send less; no entity needs as much.',
  },
  UriTooLong: {
    status: 414,
    title: 'The request target is too long',
    explanation:
      'Path and query string together, percent-encoded, may have up to 3 KiB: the links of a page repeat them.',
    remedy: 'Send fewer or shorter filters and sort definitions.',
  },
  UnsupportedMediaType: {
    status: 415,
    title: 'The body is not declared as JSON',
    explanation: 'A body is declared as application/json, with charset=utf-8 or without, and not compressed.',
    remedy: 'Send the header Content-Type: application/json, and no Content-Encoding.',
  },
  IdempotencyMismatch: {
    status: 422,
    title: 'The Idempotency-Key was used for another request',
    explanation:
      'A write with this key was done within the last 24 hours, and its method, path or body was another one.',
    remedy: 'Send a new key with each new write; the same one only with the same method, path and body.',
  },
  RateLimitExceeded: {
    status: 429,
    title: 'Too many requests',
    explanation:
      'The message names the limit that was reached. Nothing was charged. Requests without a valid key are counted by address.',
    remedy: 'Wait for the seconds in the headers RetryAfter and Retry-After; then the request is admitted.',
  },
  InternalError: {
    status: 500,
    title: 'The server failed',
    explanation: 'The fault is the server’s. Its log has the details under the request id that the answer carries.',
    remedy: 'Send the request id to the operator of the server.',
  },
  ServiceUnavailable: {
    status: 503,
    title: 'The database does not answer',
    explanation: 'It is away, slower than its deadline, full, or denies us its files or tables.',
    remedy: 'Retry after the seconds in the header Retry-After.',
  },
  OutcomeUnknown: {
    status: 503,
    title: 'The write may have been done',
    explanation:
      'The connection to the database was lost, or it did not answer in time, when the write had been sent to it: it is done, or will be, or never.',
    remedy:
      'With an Idempotency-Key, send the same request again after the seconds in the header Retry-After: it is done once. Without one, read what is stored before you send it again.',
  },
  TooCostly: {
    status: 503,
    title: 'The list would cost too much',
    explanation:
      'The database ended it after 3 seconds, or since it would have sorted more rows than fit into the room for that. The same list would end so again, so there is no Retry-After.',
    remedy:
      'Narrow it as the message says: filter by = or a range that few rows match, sort by one property, and follow the links of a page instead of asking for a late one by its number.',
  },
} as const satisfies Record<string, { status: number; title: string; explanation: string; remedy: string }>
