import { ofDatabase } from './ofDatabase.ts'
import { ofLists } from './ofLists.ts'
import { ofProcesses } from './ofProcesses.ts'
import { ofRequests } from './ofRequests.ts'
import { ofWebhooks } from './ofWebhooks.ts'

/** Every metric there is: a scrape, docs/monitoring/, the dashboard and the alerts name these, and no others. */
export const metrics = { ...ofRequests, ...ofDatabase, ...ofLists, ...ofWebhooks, ...ofProcesses }

export type MetricName = keyof typeof metrics
