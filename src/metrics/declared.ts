// Every metric of the server: its name, meaning and labels.

export interface Metric {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  /** Values of each label; null if they are known only at run time. */
  readonly labels: Readonly<Record<string, readonly string[] | null>>
  /** Upper bounds of a histogram's buckets, in seconds. */
  readonly bounds?: readonly number[]
  /**
   * Rule by which the values of workers are combined: their sum, the greatest value, or every value with the label `worker`.
   * `supervisor`: only the supervisor has a value.
   */
  readonly from: 'sum' | 'greatest' | 'each' | 'supervisor'
}

/**
 * A series of a metric: its labels and a single value; for a histogram, the count of each bucket and the sum of the observed
 * values.
 */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly values: readonly number[]
}

const KINDS_OF_REQUEST = ['list', 'stream', 'row', 'write', 'changes', 'other'] as const
const KINDS_OF_STATEMENT = ['read', 'write', 'list', 'longWrite'] as const

/** Methods that have their own series. Any method that is not in this list is counted as `other`. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'other'] as const

export type KindOfRequest = (typeof KINDS_OF_REQUEST)[number]
export type KindOfStatement = (typeof KINDS_OF_STATEMENT)[number]

/** Returns a function that declares metrics of one type, whose values are combined by the rule `from`. */
function metricsOf<const Type extends Metric['type'], const From extends Metric['from']>(type: Type, from: From) {
  return <const Labels extends Metric['labels'] = Record<string, never>>(name: string, help: string, labels = {} as Labels) =>
    ({ name, type, help, labels, from }) as const
}

const counter = metricsOf('counter', 'sum')
const gauge = metricsOf('gauge', 'sum')
const histogram = metricsOf('histogram', 'sum')
const ownCounter = metricsOf('counter', 'supervisor')
const ownGauge = metricsOf('gauge', 'supervisor')
const greatestGauge = metricsOf('gauge', 'greatest')
const eachHistogram = metricsOf('histogram', 'each')

/** Reasons why memory could not answer a list or a summary. */
const REASONS = ['noCopy', 'behind', 'apart', 'index', 'texts', 'values', 'related', 'json'] as const
const POOLS = ['rows', 'lists', 'longWrites', 'memory'] as const
/**
 * Upper bounds of request times, in seconds: from 0.5 ms, the time of a page from memory, to more than the deadline of queries.
 */
const REQUEST_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** Upper bounds of statement times, in seconds. The last bound is the time limit that PostgreSQL has for most statements. */
const STATEMENT_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 3]

/** All metrics. Scrapes, docs/monitoring/, the dashboard and the alerts use exactly these. */
export const metrics = {
  // Requests, streams and limits
  requests: counter('roster_http_requests_total', 'Requests that were answered, by route, method and status.', {
    route: null,
    method: METHODS,
    status: null,
  }),
  requestSeconds: {
    ...histogram(
      'roster_http_request_duration_seconds',
      'From the arrival of a request to its answer, and to the end of a stream.',
      { kind: KINDS_OF_REQUEST },
    ),
    bounds: REQUEST_SECONDS,
  },
  requestsInFlight: gauge('roster_http_requests_in_flight', 'Requests without an answer yet.'),
  streams: gauge('roster_streams', 'Streams under way.'),
  limited: counter(
    'roster_limiter_requests_total',
    'Requests that were charged, by who was charged and whether the limits admitted them.',
    { client: ['key', 'address', 'person'], result: ['admitted', 'refused'] },
  ),
  overflowed: counter(
    'roster_limiter_overflowed_total',
    'Requests of keys that found no entry of their own, since more are in use than RATE_LIMIT_CLIENTS.',
  ),
  limiterKeys: greatestGauge('roster_limiter_keys', 'Keys of which requests count at the moment, as of ten seconds ago at most.'),
  limiterKeysMax: greatestGauge('roster_limiter_keys_max', 'Keys that can have an entry of their own: RATE_LIMIT_CLIENTS.'),
  limiterPersons: greatestGauge(
    'roster_limiter_persons',
    'Persons of whom requests count at the moment, as of ten seconds ago at most.',
  ),

  // Statements, batches and connections
  statementSeconds: {
    ...histogram('roster_database_statement_duration_seconds', 'From handing a statement to the driver to its answer, by kind.', {
      kind: KINDS_OF_STATEMENT,
    }),
    bounds: STATEMENT_SECONDS,
  },
  failures: counter('roster_database_failures_total', 'Statements that ended with an error or missed their deadline, by kind.', {
    kind: KINDS_OF_STATEMENT,
  }),
  batches: counter('roster_database_batches_total', 'Statements that did the work of several.', { kind: ['read', 'write'] }),
  batched: counter('roster_database_batched_total', 'Reads and writes that went to the database in batches.', {
    kind: ['read', 'write'],
  }),
  renewals: counter(
    'roster_database_pool_renewals_total',
    'Times that all connections of a pool were replaced, since one was lost or all were stuck.',
  ),
  connectionsMax: gauge('roster_database_connections_max', 'Connections that a pool may open.', { pool: POOLS }),
  statementsSent: gauge(
    'roster_database_statements_sent',
    'Statements that the driver has; more than there are connections wait for one.',
    { pool: POOLS },
  ),
  queries: gauge('roster_database_queries', 'Reads and writes without an answer yet, those that wait for a batch included.', {
    pool: POOLS,
  }),

  // Lists and memory
  lists: counter(
    'roster_lists_total',
    'Lists by where their answer came from: kept from an equal request, found in memory, or read from the database.',
    { from: ['kept', 'memory', 'database'] },
  ),
  memoryLists: counter(
    'roster_memory_lists_total',
    'Lists that were found in memory, by how: as a part of an index, by a walk along an index, by its checkpoints, or by gathering and sorting the few rows that match.',
    { way: ['index', 'walk', 'checkpoints', 'gathered'] },
  ),
  databaseLists: counter(
    'roster_database_lists_total',
    'Lists that were read from the database, by why memory could not answer. `noCopy`: a table is not in memory. `behind`: its copy was not current. `apart`: copies of several tables were not of one snapshot. `index`: an index was missing. `texts`: the order of texts was not known. `values`: a value has no code. `related`: the ids of the rows to which a path leads are too far apart. `json`: it shows JSON, which copies do not have.',
    { reason: REASONS },
  ),
  summaries: counter('roster_summaries_total', 'Summaries by where their answer came from, as lists.', {
    from: ['kept', 'memory', 'database'],
  }),
  databaseSummaries: counter(
    'roster_database_summaries_total',
    'Summaries that were read from the database, by why memory could not answer, as lists.',
    { reason: REASONS },
  ),
  questions: counter(
    'roster_memory_questions_total',
    'Questions to the database, which rows of a table have changed; lists that arrive together have one.',
  ),
  memoryTables: gauge('roster_memory_tables', 'Copies of tables in memory, of all workers.'),
  memoryBytes: gauge('roster_memory_bytes', 'Memory of these copies.'),
  memoryBytesMax: gauge('roster_memory_bytes_max', 'MEMORY_MB of each worker, of which copies may take seven eighths.'),

  // Webhooks
  hooks: ownGauge(
    'roster_hooks',
    'Hooks of the database by state, as of the last look of this server: once a minute, or each second while it posts.',
    { state: ['active', 'paused', 'parked'] },
  ),
  deliveries: ownCounter(
    'roster_hook_deliveries_total',
    'Deliveries to hooks by this server: those that their receivers took, and those that failed and are tried again.',
    { outcome: ['taken', 'failed'] },
  ),
  hookLag: ownGauge(
    'roster_hook_lag_seconds',
    'How long ago the oldest change was written that an active hook has not taken; 0 where there is none, or another server posts.',
  ),

  // Processes
  delays: {
    ...eachHistogram('roster_event_loop_delay_seconds', 'Delay of a timer of each worker; each of its requests waited as long.'),
    bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1],
  },
  workers: ownGauge('roster_workers', 'Worker processes that run.'),
  workersWanted: ownGauge('roster_workers_wanted', 'Worker processes that are to run.'),
  replacements: ownCounter('roster_worker_replacements_total', 'Workers that ended unasked, or hung, and were replaced.'),
  memory: ownGauge('roster_process_resident_memory_bytes', 'Memory of each process of the server.', { process: null }),
  descriptors: ownGauge('roster_process_open_fds', 'Open descriptors of each process of the server.', { process: null }),
  descriptorsMax: ownGauge('roster_process_max_fds', 'Descriptors that a process may have open.'),
  started: ownGauge('roster_start_time_seconds', 'When the server was started, in seconds since 1970.'),
  build: ownGauge('roster_build_info', 'Always 1; its labels say what runs.', { version: null, bun: null }),
} as const satisfies Record<string, Metric>

export type MetricName = keyof typeof metrics
