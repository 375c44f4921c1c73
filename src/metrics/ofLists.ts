import type { Metric } from './metric.ts'

/** Of lists, and of what they come from. */
export const ofLists = {
  lists: {
    name: 'roster_lists_total',
    type: 'counter',
    help: 'Lists by where their answer came from: a page kept, the answer of an equal request, columns, the database with a known total, the database, a standby.',
    labels: { from: ['page', 'equal', 'columns', 'total', 'database', 'standby'] },
    from: 'sum',
  },
  cacheLease: {
    name: 'roster_list_cache_live',
    type: 'gauge',
    help: '1 while writes of others are known, so that lists may come from memory.',
    labels: {},
    from: 'supervisor',
  },
  feedLag: {
    name: 'roster_change_feed_lag_seconds',
    type: 'gauge',
    help: 'How late the news of writes of others were, as of the last time they were asked for.',
    labels: {},
    from: 'supervisor',
  },
  columnTables: {
    name: 'roster_columns_tables',
    type: 'gauge',
    help: 'Copies of tables in columns, of all workers.',
    labels: {},
    from: 'sum',
  },
  columnBytes: {
    name: 'roster_columns_bytes',
    type: 'gauge',
    help: 'Memory of these copies.',
    labels: {},
    from: 'sum',
  },
  columnBytesMax: {
    name: 'roster_columns_bytes_max',
    type: 'gauge',
    help: 'Memory that these copies may take: COLUMNS_MB of each worker.',
    labels: {},
    from: 'sum',
  },
  columnAge: {
    name: 'roster_columns_age_seconds',
    type: 'gauge',
    help: 'How long ago the oldest of these copies was read or refreshed; changes since are taken in as they come.',
    labels: {},
    from: 'greatest',
  },
} as const satisfies Record<string, Metric>
