import type { Metric } from './metric.ts'

/** Of what the server runs as. */
export const ofProcesses = {
  delays: {
    name: 'roster_event_loop_delay_seconds',
    type: 'histogram',
    help: 'How late a timer of each worker was: so long every request of the worker waited.',
    labels: {},
    bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1],
    from: 'each',
  },
  workers: {
    name: 'roster_workers',
    type: 'gauge',
    help: 'Worker processes that run.',
    labels: {},
    from: 'supervisor',
  },
  workersWanted: {
    name: 'roster_workers_wanted',
    type: 'gauge',
    help: 'Worker processes that are to run.',
    labels: {},
    from: 'supervisor',
  },
  replacements: {
    name: 'roster_worker_replacements_total',
    type: 'counter',
    help: 'Workers that ended unasked, or hung, and were replaced.',
    labels: {},
    from: 'supervisor',
  },
  uncounted: {
    name: 'roster_workers_uncounted',
    type: 'gauge',
    help: 'Workers that run and whose requests are in no metric, since more run than there is room for.',
    labels: {},
    from: 'supervisor',
  },
  memory: {
    name: 'roster_process_resident_memory_bytes',
    type: 'gauge',
    help: 'Memory of each process of the server.',
    labels: { process: null },
    from: 'supervisor',
  },
  descriptors: {
    name: 'roster_process_open_fds',
    type: 'gauge',
    help: 'Open descriptors of each process of the server.',
    labels: { process: null },
    from: 'supervisor',
  },
  descriptorsMax: {
    name: 'roster_process_max_fds',
    type: 'gauge',
    help: 'Descriptors that a process may have open.',
    labels: {},
    from: 'supervisor',
  },
  started: {
    name: 'roster_start_time_seconds',
    type: 'gauge',
    help: 'When the server was started, in seconds since 1970.',
    labels: {},
    from: 'supervisor',
  },
  build: {
    name: 'roster_build_info',
    type: 'gauge',
    help: 'Always 1; its labels say what runs.',
    labels: { version: null, bun: null },
    from: 'supervisor',
  },
} as const satisfies Record<string, Metric>
