// `roster keys try`: answers a request by the rights of a key.
import type { Config } from '../config/config.ts'
import { Database } from '../execute/database.ts'
import type { StoredRights } from '../model/key.ts'
import { loadEntities } from '../registry.ts'
import { RightsReader } from '../rights/reader.ts'
import { loadRoles } from '../roles/load.ts'
import { withKeys } from './openDatabase.ts'
import { print } from './output.ts'
import { CommandError } from './run.ts'
import { dataOf, filtersOf, linesOf, readRequest, tryRequest } from './tryRequest.ts'

/** Prints the answer to a request, and the right that decides it. `as`: the name of a key, or rights. @throws CommandError */
export async function tryAs(config: Config, text: string, as: string | StoredRights, json?: true): Promise<void> {
  const target = readRequest(text)
  const entities = await loadEntities(config.entitiesDir)
  const roles = loadRoles(config, entities)
  const views = roles?.views ?? []
  await withKeys(config, async (store, url) => {
    const stored = typeof as === 'string' ? await store.rightsOf(as) : as
    const rights = new RightsReader(entities, views, roles).read(stored)
    if (rights.fault !== null) {
      const what = stored.role === null ? 'the rights do not fit the entities, so none of them holds' : 'the key has no rights'
      throw new CommandError(`${what}: ${rights.fault}`)
    }
    const database = new Database({ url, poolSize: 2, prepare: false })
    try {
      const tried = await tryRequest({ config, entities, views, database, url }, target, rights)
      const right = tried.rights[0] ?? null
      await print(
        json
          ? dataOf(tried, { right: right?.text ?? null, filters: filtersOf(right) })
          : `${(await linesOf(tried)).join('\n')}\n`,
      )
    } finally {
      await database.end()
    }
  })
}
