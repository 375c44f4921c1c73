import { KINDS_OF_REQUEST, METHODS, type Metric, STATUSES } from './metric.ts'

/** From half a millisecond, which a page from memory takes, to the deadline of a query, and beyond. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Of requests, streams and limits. */
export const ofRequests = {
  requests: {
    name: 'roster_http_requests_total',
    type: 'counter',
    help: 'Requests that were answered, by route, method and status.',
    labels: { route: null, method: METHODS, status: STATUSES },
    from: 'sum',
  },
  requestSeconds: {
    name: 'roster_http_request_duration_seconds',
    type: 'histogram',
    help: 'From the arrival of a request to its answer, and to the end of a stream.',
    labels: { kind: KINDS_OF_REQUEST },
    bounds: SECONDS,
    from: 'sum',
  },
  requestsInFlight: {
    name: 'roster_http_requests_in_flight',
    type: 'gauge',
    help: 'Requests without an answer yet.',
    labels: {},
    from: 'sum',
  },
  streams: {
    name: 'roster_streams',
    type: 'gauge',
    help: 'Streams under way.',
    labels: {},
    from: 'sum',
  },
  limited: {
    name: 'roster_limiter_requests_total',
    type: 'counter',
    help: 'Requests that were charged, by who was charged and whether the limits admitted them.',
    labels: { client: ['key', 'address'], result: ['admitted', 'refused'] },
    from: 'sum',
  },
  overflowed: {
    name: 'roster_limiter_overflowed_total',
    type: 'counter',
    help: 'Requests of keys that found no entry of their own, since more are in use than RATE_LIMIT_CLIENTS.',
    labels: {},
    from: 'sum',
  },
  limiterKeys: {
    name: 'roster_limiter_keys',
    type: 'gauge',
    help: 'Keys of which requests count at the moment, as of ten seconds ago at most.',
    labels: {},
    from: 'greatest',
  },
  limiterKeysMax: {
    name: 'roster_limiter_keys_max',
    type: 'gauge',
    help: 'Keys that can have an entry of their own: RATE_LIMIT_CLIENTS.',
    labels: {},
    from: 'greatest',
  },
} as const satisfies Record<string, Metric>
