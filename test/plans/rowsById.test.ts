import { expect, test } from 'bun:test'
import { compileRowsById } from '../../src/compile/list.ts'
import { arrayText } from '../../src/model/sql.ts'
import { loadEntities } from '../../src/registry.ts'
import { allNodes, explain } from '../support/explain.ts'
import { usePlanSite } from '../support/planSite.ts'

const COUNTS = { company: 10_000, employee: 10_000, absence: 10_000 }
const TIMEOUT_MS = 60_000

const site = usePlanSite(COUNTS)
const entities = (await loadEntities()).filter(({ table }) => table in COUNTS)

test.each([1, 20, 50])(
  '%d rows by their ids are found by the index of ids, and no others are read; those of two lists at once too',
  async (count) => {
    const ids = Array.from({ length: count }, (_, index) => 1 + index * 199)
    for (const entity of entities)
      for (const kind of ['analyze', 'generic_plan'] as const) {
        const statement = compileRowsById(entity, ids)
        const together = {
          text: statement.batch?.text ?? '',
          values: [arrayText([statement.values[0] ?? null, '{1}'])],
        }
        const nodes = [
          ...allNodes(await explain(site.database, statement, kind)),
          ...allNodes(await explain(site.database, together, kind)),
        ].filter((node) => node['Node Type'] !== 'Function Scan')
        const scans = nodes.filter((node) => node['Node Type'].includes('Scan'))
        const context = [entity.name, kind]
        expect([context, scans.length > 0]).toEqual([context, true])
        for (const scan of scans) {
          expect([context, scan['Index Cond']]).toEqual([context, expect.stringContaining('id = ANY')])
          expect([context, (scan['Actual Rows'] ?? 0) <= count]).toEqual([context, true])
        }
      }
  },
  TIMEOUT_MS,
)
