import { beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { readToken } from '../../src/model/changesToken.ts'
import { useIssuer } from '../support/issuer.ts'
import { headersOf, insertPeople, setManager } from '../support/people.ts'
import { ROLES_FILE } from '../support/rolesFile.ts'
import type { Json } from '../support/server.ts'
import { untilSettled } from '../support/settled.ts'
import { useServer } from '../support/start.ts'

// Requests that outlast a change of the rights of their person: streams, waits, repeated writes, the change feed.

/** With a role that reads all employees, and of other entities what everybody does. */
const ROLES = `${ROLES_FILE}
role audit when {groups} has audit
  read Employees
`
const issuer = useIssuer()
const PSEUDONYM = /^person-[\w-]{22}$/
const NDJSON = { accept: 'application/x-ndjson' }
/**
 * Rows of a stream, with long texts: together more bytes than buffers on the way hold. Each row costs PostgreSQL its triggers.
 */
const ROWS = 4_000
const TEXT = 'x'.repeat(4_000)
/** Time after which a wait must have ended by itself: the interval of checks is half a second. */
const WAIT_SECONDS = 30

describe.each(['64', '0'])('with MEMORY_MB=%s', (MEMORY_MB) => {
  const server = useServer(() => ({
    environment: {
      ...issuer.settings,
      ROLES_FILE: 'roles',
      RATE_LIMITS_PERSONS: '3000/1s',
      APP_FILE: join(import.meta.dir, 'apps/mine.ts'),
      MEMORY_MB,
    },
    // Rights of persons are not those of the document without a key.
    roles: ROLES,
    hasForeignRows: true,
  }))
  const people: Record<string, Record<string, string>> = {}

  beforeAll(async () => {
    for (const name of ['Max', 'Mia', 'Ann', 'Bob']) people[name] = await headersOf(issuer, name)
    people.Old = await headersOf(issuer, 'Old', { groups: ['audit'] })
    people.Hanna = await headersOf(issuer, 'Hanna', { groups: ['hr'] })
  })
  beforeEach(() => insertPeople(server.sql))

  const ask = (name: string, path: string, more: Record<string, string> = {}) => server.get(path, { ...people[name], ...more })
  const write = (name: string, method: string, path: string, body: Json, more: Record<string, string> = {}) =>
    server.send(method, path, body, { ...people[name], ...more })
  const setAddress = (id: number, email: string) => server.sql`update employee set work_email = ${email} where id = ${id}`

  describe('a stream', () => {
    /** Returns the lines of a stream that is read to its end after `change`. */
    async function linesAfter(name: string, path: string, change: () => Promise<unknown>): Promise<Json[]> {
      // Bun's `fetch` reads on by itself; this client reads nothing before the change.
      const answer = await new Promise<IncomingMessage>((resolve) => {
        request(server.url + path, { headers: { ...people[name], ...NDJSON } }, resolve).end()
      })
      expect(answer.statusCode).toBe(200)
      await change()
      let text = ''
      for await (const piece of answer.setEncoding('utf8')) text += piece
      return text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
    }

    beforeEach(async () => {
      await server.sql`
        insert into absence (status, employee_id, employee_key, reason)
        select 'Approved', id, display_name_key, ${TEXT} from employee, generate_series(1, ${ROWS}::int) where id = 4`
    })

    test('of a person who manages nobody any more ends early', async () => {
      const change = () => server.sql`update employee set manager_id = null, manager_key = null where manager_id = 2`
      const lines = await linesAfter('Mia', '/Absences', change)
      expect([undefined, 'Forbidden']).toContain(lines.at(-1).Error?.Code)
      expect(lines.length).toBeLessThan(ROWS)
    })

    test.each<[what: string, change: () => Promise<unknown>]>([
      ['has another address', () => setAddress(2, 'other@acme.example')],
      ['shares her address with a second row', () => setAddress(5, 'mia@acme.example')],
    ])('of a person who %s ends with Forbidden', async (_, change) => {
      const lines = await linesAfter('Mia', '/Absences', change)
      expect(lines.at(-1).Error?.Code).toBe('Forbidden')
      expect(lines.length).toBeLessThan(ROWS)
    })

    test('of a person whose row is deleted ends with Forbidden', async () => {
      await server.sql`insert into employee (first_name, job_title) select 'One', ${TEXT} from generate_series(1, ${ROWS}::int)`
      const lines = await linesAfter('Old', '/Directory', () => server.sql`delete from employee where id = 10`)
      expect(lines.at(-1).Error?.Code).toBe('Forbidden')
      expect(lines.length).toBeLessThan(ROWS)
    })

    test('is refused with 503 if its person has too many streams, while another person still gets one', async () => {
      const open = (name: string) =>
        new Promise<IncomingMessage>((resolve) => {
          request(`${server.url}/Absences`, { headers: { ...people[name], ...NDJSON } }, resolve).end()
        })
      const opened = [...(await Promise.all(Array.from({ length: 5 }, () => open('Mia')))), await open('Bob')]
      expect(opened.map(({ statusCode }) => statusCode).sort()).toEqual([200, 200, 200, 200, 200, 503])
      expect(opened.at(-1)?.statusCode).toBe(200)
      for (const answer of opened) answer.destroy()
    })

    test('continues to its end if its person loses some rows but keeps her rights', async () => {
      const lines = await linesAfter('Mia', '/Absences', () => setManager(server.sql, 3, 1))
      expect(lines.at(-1).Error).toBeUndefined()
      expect(lines.length).toBeGreaterThan(ROWS)
    })
  })

  describe('the change feed', () => {
    const end = async (name: string) => {
      await untilSettled(server.sql)
      return (await ask(name, '/Changes?after=now&entity=Employees')).body.next as string
    }

    test('names each person by a pseudonym that stays the same', async () => {
      const after = (await server.get('/Changes?after=now')).body.next
      await write('Hanna', 'PATCH', '/Employees/3', { JobTitle: 'Chief' })
      await write('Mia', 'PATCH', '/Absences/1', { Status: 'Approved' })
      await write('Hanna', 'PATCH', '/Employees/4', { JobTitle: 'Chief' })
      await untilSettled(server.sql)
      const { changes } = (await server.get(`/Changes?after=${after}`)).body
      const [one, other, again] = changes.map(({ key }: Json) => key)
      expect(changes.map(({ entity, id }: Json) => [entity, id])).toEqual([
        ['Employees', 3],
        ['Absences', 1],
        ['Employees', 4],
      ])
      expect([one, other]).toEqual([expect.stringMatching(PSEUDONYM), expect.stringMatching(PSEUDONYM)])
      expect(again).toBe(one)
      expect(other).not.toBe(one)
      expect((await ask('Hanna', '/Employees/3/Changes')).body.changes.at(-1).key).toBe(one)
    })

    test('shows a person the changes of entities that she may read without filters, with sealed tokens; other entities are 403', async () => {
      const after = await end('Old')
      expect(readToken(after)).toBeNull()
      await write('Hanna', 'PATCH', '/Employees/3', { JobTitle: 'Chief' })
      await untilSettled(server.sql)
      expect((await ask('Old', `/Changes?after=${after}`)).body.changes).toMatchObject([{ entity: 'Employees', id: 3 }])
      const plain = (await server.get('/Changes?after=now')).body.next
      expect((await ask('Old', `/Changes?after=${plain}`)).status).toBe(410)
      expect((await ask('Old', '/Changes?entity=Absences')).status).toBe(403)
      expect((await ask('Ann', '/Changes')).status).toBe(403)
    })

    test('gives a stream of all rows a sealed token, and a stream of some rows no token', async () => {
      const whole = await ask('Old', '/Employees', NDJSON)
      const token = whole.headers.get('x-changes-after') as string
      expect([readToken(token), (await ask('Old', `/Changes?after=${token}`)).status]).toEqual([null, 200])
      for (const [name, path] of [
        ['Old', '/Absences'],
        ['Ann', '/Employees'],
      ] as const)
        expect((await ask(name, path, NDJSON)).headers.get('x-changes-after')).toBeNull()
    })

    test.each<[what: string, change: () => Promise<unknown>]>([
      ['has another address', () => setAddress(5, 'other@acme.example')],
      ['no longer has a row', () => server.sql`delete from employee where id = 5`],
    ])('ends the wait and the stream of a person who %s with Forbidden', async (_, change) => {
      const after = await end('Hanna')
      const path = `/Changes?entity=Employees&after=${after}`
      const startMs = performance.now()
      // Both requests begin before the change, and wait.
      const waiting = ask('Hanna', `${path}&wait=${WAIT_SECONDS}`)
      const following = ask('Hanna', path, NDJSON)
      await Bun.sleep(300)
      await change()
      const [answer, stream] = await Promise.all([waiting, following])
      expect(answer.body.Error?.Code).toBe('Forbidden')
      expect(JSON.parse(stream.text.trimEnd().split('\n').at(-1) as string).Error?.Code).toBe('Forbidden')
      expect(performance.now() - startMs).toBeLessThan(WAIT_SECONDS * 1_000)
    })
  })

  describe('an Idempotency-Key', () => {
    const once = { 'idempotency-key': '"once"' }
    const wanted = { Type: 'Holiday', Start: '2026-05-01T00:00:00Z', End: '2026-05-08T00:00:00Z' }

    test('belongs to one person: another person creates her own row with the same key', async () => {
      const answers = [
        await write('Ann', 'POST', '/Absences', wanted, once),
        await write('Bob', 'POST', '/Absences', wanted, once),
        await write('Ann', 'POST', '/Absences', wanted, once),
      ]
      const [one, other, again] = answers.map(({ status, body }) => [status, body.id, body.employeeId])
      expect([one, other]).toEqual([
        [201, expect.any(Number), 3],
        [201, expect.any(Number), 4],
      ])
      expect([again, answers[2]?.headers.get('idempotency-replayed')]).toEqual([one, 'true'])
    })

    test('replays what the person may read now: the row, or only its id; a person without rights gets 403', async () => {
      const decide = () => write('Mia', 'PATCH', '/Absences/1', { Status: 'Approved' }, once)
      expect((await decide()).body).toMatchObject({ id: 1, status: 'Approved' })
      const again = await decide()
      expect([again.status, again.headers.get('idempotency-replayed'), again.body.status]).toEqual([200, 'true', 'Approved'])
      await setManager(server.sql, 3, 1)
      const hidden = await decide()
      expect([hidden.status, hidden.headers.get('idempotency-replayed'), hidden.body]).toEqual([200, 'true', { id: 1 }])
      await setAddress(2, 'other@acme.example')
      expect((await decide()).status).toBe(403)
    })
  })

  test('a route of APP_FILE reads and writes with the present rights of the person', async () => {
    expect((await ask('Mia', '/mine')).body.map(({ id }: Json) => id).sort()).toEqual([1, 2, 3, 5, 7])
    expect((await ask('Ann', '/mine')).body.map(({ id }: Json) => id).sort()).toEqual([1, 5])
    expect((await write('Ann', 'POST', '/take/1', undefined)).status).toBe(403)
    expect((await write('Mia', 'POST', '/take/1', undefined)).status).toBe(200)
    await setManager(server.sql, 4, 1)
    expect((await write('Mia', 'POST', '/take/7', undefined)).status).toBe(404)
    await setAddress(2, 'other@acme.example')
    expect((await ask('Mia', '/mine')).status).toBe(403)
  })
})
