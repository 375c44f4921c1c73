// What programs import from `roster`.
import type { AnyElysia } from 'elysia'
import type { RosterOptions } from './processes/mounted.ts'

export { Elysia } from 'elysia'
export { ask } from './http/ownRoutes.ts'
export type { RosterOptions }

/**
 * The API as part of an app of one's own, in this process alone: `new Elysia().use(await roster({ entities: 'entities' }))`.
 * @throws Error that says what is wrong with settings, database or tables
 */
export async function roster(options: RosterOptions = {}): Promise<AnyElysia> {
  // A worker, whose routes of one's own need `ask`, needs nothing of this.
  const { mountedApi } = await import('./processes/mounted.ts')
  return mountedApi(options, process.env)
}
