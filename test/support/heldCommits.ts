import type postgres from 'postgres'
import { until } from './process.ts'

/**
 * Lets commits wait for a standby that there is not, on disk and not to be seen; resolves when they do, to what lets them go.
 * The setting reaches commits a moment after the reload, so one is made to wait first, over `probe`.
 */
export async function holdCommits(admin: postgres.Sql, probe: postgres.Sql): Promise<() => Promise<void>> {
  const waitFor = async (standby: string) => {
    await admin.unsafe(`alter system set synchronous_standby_names = '${standby}'`)
    await admin`select pg_reload_conf()`
  }
  await waitFor('nowhere')
  let isDone = true
  let held: Promise<unknown> = Promise.resolve()
  while (isDone) {
    isDone = false
    held = probe`select pg_logical_emit_message(true, 'a probe of tests', '')`.then(() => {
      isDone = true
    })
    await until(async () => isDone || (await heldCommits(admin)) > 0)
  }
  return async () => {
    await waitFor('')
    await held
  }
}

/** How many commits wait for a standby. */
export async function heldCommits(admin: postgres.Sql): Promise<number> {
  return (await admin`select from pg_stat_activity where wait_event = 'SyncRep'`).length
}
