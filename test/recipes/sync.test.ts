import { Database } from 'bun:sqlite'
import { beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { pythonPrograms } from '../python/environment.ts'
import { useDatabase } from '../support/database.ts'
import { leaveOut, run, temporaryFolder } from '../support/process.ts'
import { Random } from '../support/random.ts'
import { untilSettled } from '../support/settled.ts'
import { useProcess } from '../support/start.ts'

const ROOT = join(import.meta.dir, '../..')
const ROWS = 40_000
const IMPORTED = 2_000
const key = `roster_key_${crypto.randomUUID()}`
const folder = temporaryFolder()
const file = join(folder.path, 'absences.db')
const { bin, lack } = await pythonPrograms()

const { url: DATABASE_URL, sql } = useDatabase()
const served = useProcess({ DATABASE_URL, BOOTSTRAP_API_KEY: key, WORKERS: '1', RATE_LIMITS: '', RATE_LIMITS_ANONYMOUS: '' })
beforeAll(async () => {
  await sql`insert into absence (reason, period_days) select 'row ' || n, n % 7 from generate_series(1, ${ROWS}::int) as n`
  await writeOddValues(1)
})

const sync = (entity = 'Absences', address = served.url) =>
  run([`${bin}/python`, join(ROOT, 'docs/recipes/sync.py'), entity, file], { ROSTER_URL: address, ROSTER_KEY: key })

/** Runs the program and kills it `kills` times at random moments; then lets it end. */
async function syncWithKills(kills: number, random: Random): Promise<string> {
  for (let left = kills; left > 0; left--) {
    const program = sync()
    await Bun.sleep(200 + random.below(400))
    program.kill('SIGKILL')
    await program.ended
  }
  const last = sync()
  expect(await last.ended).toBe(0)
  return last.output().trim()
}

async function expectEqual() {
  const answer = await fetch(`${served.url}/Absences`, {
    headers: { Authorization: `ApiKey ${key}`, Accept: 'application/x-ndjson' },
  })
  const lines = (await answer.text()).trimEnd().split('\n')
  const database = new Database(file, { readonly: true })
  const copied = database.query('select json from row order by id').values()
  database.close()
  expect(copied.length).toBe(lines.length)
  // Compared as text, in which decimals have all their digits.
  expect(copied.filter(([json], index) => json !== lines[index])).toEqual([])
}

/**
 * Writes decimals with more digits than a float keeps, in rows of the first copy and in changed ones; and texts of other
 * alphabets.
 */
async function writeOddValues(rest: number) {
  await sql`update absence set period_days = 1234567890.12345678 + id / 1e8, period_hours = 0.00000001,
    reason = ${'\u2028ö"\\\u0001🦊'} where id % 1000 = ${rest}::int`
}

test('the copy that sync.py keeps equals the rows of the service, despite default limits, kills, and an import in between', async () => {
  if (bin === null) return leaveOut('CI_REQUIRES_PYTHON', lack)
  const random = new Random(7)
  await untilSettled(sql)
  expect(await syncWithKills(3, random)).toEndWith(`${ROWS} rows`)
  await expectEqual()
  const rows = Array.from({ length: IMPORTED }, (_, index) => JSON.stringify({ Reason: `imported ${index}`, Type: 'Holiday' }))
  const imported = join(folder.path, 'absences.ndjson')
  await Bun.write(imported, `${rows.join('\n')}\n`)
  const importing = run(['node', 'src/launch.mjs', 'src/main.ts', 'import', 'absences', imported, '--url', served.url], {
    ROSTER_KEY: key,
  })
  expect(await importing.ended).toBe(0)
  await sql`update absence set type = 'Training' where id % 50 = 0`
  await writeOddValues(2)
  await sql`delete from absence where id % 97 = 0`
  await untilSettled(sql)
  await syncWithKills(2, random)
  await expectEqual()
  // A file of another collection, and an invalid address, are errors.
  const [other, wrong] = [sync('Companies'), sync('Absences', 'localhost')]
  expect([await other.ended, await wrong.ended]).toEqual([1, 1])
  expect(other.output()).toContain(`${file} is a copy of Absences: take another file`)
})
