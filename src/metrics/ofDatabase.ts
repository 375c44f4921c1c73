import { KINDS_OF_STATEMENT, type Metric } from './metric.ts'

const POOLS = ['rows', 'lists', 'longWrites'] as const
/** The last one is what PostgreSQL lets most statements have. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 3]

/** Of statements, batches and connections. */
export const ofDatabase = {
  statementSeconds: {
    name: 'roster_database_statement_duration_seconds',
    type: 'histogram',
    help: 'From handing a statement to the driver to its answer, by kind.',
    labels: { kind: KINDS_OF_STATEMENT },
    bounds: SECONDS,
    from: 'sum',
  },
  failures: {
    name: 'roster_database_failures_total',
    type: 'counter',
    help: 'Statements that ended with an error or missed their deadline, by kind.',
    labels: { kind: KINDS_OF_STATEMENT },
    from: 'sum',
  },
  batches: {
    name: 'roster_database_batches_total',
    type: 'counter',
    help: 'Statements that did the work of several.',
    labels: { kind: ['read', 'write'] },
    from: 'sum',
  },
  batched: {
    name: 'roster_database_batched_total',
    type: 'counter',
    help: 'Reads and writes that went to the database in batches.',
    labels: { kind: ['read', 'write'] },
    from: 'sum',
  },
  renewals: {
    name: 'roster_database_pool_renewals_total',
    type: 'counter',
    help: 'Times that all connections of a pool were replaced, since one was lost or all were stuck.',
    labels: {},
    from: 'sum',
  },
  connectionsMax: {
    name: 'roster_database_connections_max',
    type: 'gauge',
    help: 'Connections that a pool may open.',
    labels: { pool: POOLS },
    from: 'sum',
  },
  statementsSent: {
    name: 'roster_database_statements_sent',
    type: 'gauge',
    help: 'Statements that the driver has; more than there are connections wait for one.',
    labels: { pool: POOLS },
    from: 'sum',
  },
  queries: {
    name: 'roster_database_queries',
    type: 'gauge',
    help: 'Reads and writes without an answer yet, those that wait for a batch included.',
    labels: { pool: POOLS },
    from: 'sum',
  },
} as const satisfies Record<string, Metric>
