import { expect, test } from 'bun:test'
import { connect, createDatabase } from '../support/postgres.ts'
import { workersOf } from '../support/process.ts'
import { KEY } from '../support/server.ts'
import { startProcess } from '../support/start.ts'

const KILLS = 4
const CLIENTS = 4
const ROWS = 100

test('D115: rows that several clients upsert repeatedly exist once, although workers are killed', async () => {
  const DATABASE_URL = await createDatabase()
  const { server, url } = await startProcess({ DATABASE_URL, WORKERS: '2' })
  const sql = connect(DATABASE_URL)
  const headers = { authorization: `ApiKey ${KEY}`, 'content-type': 'application/json' }
  const rows = Array.from({ length: ROWS }, (_, index) => ({ EmployeeNumber: `E${index}`, LastName: `L${index}` }))
  let kills = 0
  const isKilling = () => kills < KILLS
  /** Sends the rows until the last worker was killed, and then until they are answered. */
  const client = async (title: string) => {
    for (;;) {
      const body = JSON.stringify(rows.map((row) => ({ ...row, Title: title })))
      const answer = await fetch(`${url}/Employees?match=EmployeeNumber`, { method: 'POST', headers, body }).catch(() => null)
      if (answer?.status === 200 && !isKilling()) return
      await answer?.body?.cancel()
    }
  }
  const clients = Array.from({ length: CLIENTS }, (_, index) => client(`T${index}`))
  while (isKilling()) {
    await Bun.sleep(150)
    const [worker] = workersOf(server.pid as number)
    if (worker === undefined) continue
    process.kill(worker, 'SIGKILL')
    kills++
  }
  await Promise.all(clients)
  const stored = await sql`select employee_number as number, count(*)::int as count from employee group by 1`
  await sql.end()
  expect([stored.length, stored.filter(({ count }) => count > 1)]).toEqual([ROWS, []])
})
