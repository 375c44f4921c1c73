// Writes by filters of a server whose workers are killed: a repetition under the same Idempotency-Key changes nothing twice. D113
import { expect, test } from 'bun:test'
import { usePlace } from '../support/place.ts'
import { connect } from '../support/postgres.ts'
import { workersOf } from '../support/process.ts'
import { startProcess } from '../support/start.ts'

const place = usePlace()
const ROUNDS = 4

test('a write by filters changes each row exactly once when it is repeated with its Idempotency-Key after its worker was killed', async () => {
  const { server, ask } = await startProcess({ ...place.settings, WORKERS: '1' })
  const sql = connect(place.DATABASE_URL)
  await sql`insert into absence (reason) select 'killed' from generate_series(1, 500)`
  await sql`create table times (round text, id bigint)`
  await sql.unsafe(`create function note() returns trigger language plpgsql as $$
    begin insert into times values (new.status, new.id); return null; end $$;
    create trigger noted after update on absence for each row execute function note()`)
  let lost = 0
  for (let round = 0; round < ROUNDS; round++) {
    const send = () =>
      ask('PATCH', '/Absences?Reason=killed', { Status: `round ${round}` }, { 'Idempotency-Key': `round-${round}` })
    const first = send().catch(() => null)
    await Bun.sleep(20 * round)
    for (const pid of workersOf(server.pid)) process.kill(pid, 'SIGKILL')
    if ((await first)?.status !== 200) lost++
    let again = await send().catch(() => null)
    while (again?.status !== 200) {
      await Bun.sleep(50)
      again = await send().catch(() => null)
    }
    expect(again.body).toHaveLength(500)
  }
  expect(lost).toBeGreaterThan(0)
  const counted = await sql`select count(*)::int as times, count(distinct (round, id))::int as rows from times`
  expect(counted).toMatchObject([{ times: 500 * ROUNDS, rows: 500 * ROUNDS }])
  await sql.end()
})
