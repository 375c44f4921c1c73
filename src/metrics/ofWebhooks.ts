import type { Metric } from './metric.ts'

/** Of what is posted to hooks. */
export const ofWebhooks = {
  hooks: {
    name: 'roster_hooks',
    type: 'gauge',
    help: 'Hooks of the database by state, as of the last look of this server: once a minute, or each second while it posts.',
    labels: { state: ['active', 'paused', 'parked'] },
    from: 'supervisor',
  },
  deliveries: {
    name: 'roster_hook_deliveries_total',
    type: 'counter',
    help: 'Deliveries to hooks by this server: those that their receivers took, and those that failed and are tried again.',
    labels: { outcome: ['taken', 'failed'] },
    from: 'supervisor',
  },
  hookLag: {
    name: 'roster_hook_lag_seconds',
    type: 'gauge',
    help: 'How long ago the oldest change was written that an active hook has not taken; 0 where there is none, or another server posts.',
    labels: {},
    from: 'supervisor',
  },
} as const satisfies Record<string, Metric>
