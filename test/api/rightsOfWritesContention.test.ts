import { beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { COPIES_MAX } from '../../src/compile/update.ts'
import { besideTransaction, rolledBack } from '../support/besideTransaction.ts'
import { outcomeOf } from '../support/cases.ts'
import { connect } from '../support/postgres.ts'
import { keyWith } from '../support/rights.ts'
import { createRow, createRows, emptyTables } from '../support/rows.ts'
import type { Answer, TestKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'

// A write that has waited for the lock of its row compares the row with the right once more, since it may have been moved.

const READ_OWN = 'read Employees?CompanyId=1'
const WRITE = ['update Employees?CompanyId=1', 'delete Employees?CompanyId=1'] as const
const [narrow, wide, blind] = [
  keyWith(READ_OWN, ...WRITE),
  keyWith('read Employees', ...WRITE),
  keyWith('update Employees?CompanyId=1&fields=JobTitle'),
]
const [ofOne, ofTwo] = [1, 2].map((company) =>
  keyWith(
    `read Employees?CompanyId=${company}&fields=Id,JobTitle`,
    `update Employees?CompanyId=${company}&fields=JobTitle`,
    `create Employees?CompanyId=${company}&fields=JobTitle,CompanyId`,
  ),
) as [TestKey, TestKey]
const clerk = keyWith(
  READ_OWN,
  'read Absences',
  'create Absences?fields=EmployeeId,Status',
  'update Absences?fields=EmployeeId,Status',
)
const namer = keyWith('read Companies', 'update Companies?Enabled=true&fields=Name')
const titled = keyWith('create Employees?JobTitle[begins]=yes&fields=JobTitle')
const boss = keyWith(READ_OWN, 'read Companies?Id=1', 'update Employees?CompanyId=1')

const keys = [narrow, wide, blind, ofOne, ofTwo, clerk, namer, titled, boss]
const server = useServer({ keys: keys.map(({ record }) => record) })
let other: postgres.Sql
beforeAll(() => {
  other = connect(server.databaseUrl)
})
beforeEach(async () => {
  await emptyTables(server.sql)
  await createRows(server, '/Companies', [{ Name: 'One', Enabled: true }, { Name: 'Two' }])
})

const send = (key: TestKey, method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  server.send(method, path, body, { ...key.headers, ...headers })

const beside = <T>(
  { commits }: { commits: boolean },
  work: (sql: postgres.TransactionSql) => Promise<unknown>,
  ask: () => Promise<T>,
) => besideTransaction({ holder: other, watcher: server.sql, commits }, work, ask)

/** Moves an employee to a company, as another program may. */
const moveTo = (id: number, company: number) => (sql: postgres.TransactionSql) =>
  sql`update employee set company_id = ${company}, company_key = (select name_key from company where id = ${company}) where id = ${id}`

const stored = async (id: number) =>
  (await server.sql`select job_title, first_name, company_id::int from employee where id = ${id}`).map((row) => ({ ...row }))

/** The forms of statements that write a row: method, body and headers. */
const WRITES: [form: string, method: string, body: object | undefined, headers: Record<string, string>, good: number][] = [
  ['PATCH', 'PATCH', { JobTitle: 'mine' }, {}, 200],
  ['PATCH with If-Match: *', 'PATCH', { JobTitle: 'mine' }, { 'if-match': '*' }, 200],
  ['PATCH under an Idempotency-Key', 'PATCH', { JobTitle: 'mine' }, { 'idempotency-key': 'KEY' }, 200],
  ['PATCH of a reference', 'PATCH', { JobTitle: 'mine', CompanyId: 1 }, {}, 200],
  ['PATCH of a name that others copy', 'PATCH', { JobTitle: 'mine', FirstName: 'Ann' }, {}, 200],
  [
    'PATCH of a name under an Idempotency-Key',
    'PATCH',
    { JobTitle: 'mine', FirstName: 'Ann' },
    { 'idempotency-key': 'KEY' },
    200,
  ],
  ['PUT', 'PUT', { JobTitle: 'mine', CompanyId: 1 }, {}, 200],
  ['DELETE', 'DELETE', undefined, {}, 204],
  ['DELETE under an Idempotency-Key', 'DELETE', undefined, { 'idempotency-key': 'KEY' }, 204],
]

describe.each(WRITES)('%s', (_, method, body, template, good) => {
  const headersOf = () =>
    Object.fromEntries(Object.entries(template).map(([name, value]) => [name, value === 'KEY' ? crypto.randomUUID() : value]))
  const done = { job_title: 'mine', company_id: 1 }

  test.each([true, false])(
    'waits for a transaction that moves the row out of the key’s right, and is refused if that transaction commits: %p',
    async (commits) => {
      for (const [key, refusal] of [
        [narrow, '404 NotFound Api'],
        [wide, '403 Forbidden CompanyId'],
      ] as const) {
        const { id } = await createRow(server, '/Employees', { CompanyId: 1, JobTitle: 'before', FirstName: 'before' })
        await createRow(server, '/Employees', { CompanyId: 1, ManagerId: id })
        if (method === 'DELETE') await server.sql`update employee set manager_id = null, manager_key = null`
        const answer = await beside({ commits }, moveTo(id, 2), () => send(key, method, `/Employees/${id}`, body, headersOf()))
        expect(outcomeOf(answer)).toBe(commits ? refusal : String(good))
        const now = await stored(id)
        if (commits) expect(now).toEqual([{ job_title: 'before', first_name: 'before', company_id: 2 }])
        else expect(now).toEqual(method === 'DELETE' ? [] : [expect.objectContaining(done)])
      }
    },
  )

  test('does not wait for a transaction that moves the row into the key’s right, and is admitted only after its commit', async () => {
    const { id } = await createRow(server, '/Employees', { CompanyId: 2, JobTitle: 'before' })
    const path = `/Employees/${id}`
    await other.begin(async (transaction) => {
      await moveTo(id, 1)(transaction)
      expect(outcomeOf(await send(narrow, method, path, body, headersOf()))).toBe('404 NotFound Api')
      expect(outcomeOf(await send(wide, method, path, body, headersOf()))).toBe('403 Forbidden CompanyId')
    })
    expect((await send(narrow, method, path, body, headersOf())).status).toBe(good)
  })
})

test('without a right to read, a row that was moved out of the key’s right gives the same error as a missing row', async () => {
  const { id } = await createRow(server, '/Employees', { CompanyId: 1 })
  const left = await beside({ commits: true }, moveTo(id, 2), () => send(blind, 'PATCH', `/Employees/${id}`, { JobTitle: 'x' }))
  const missing = await send(blind, 'PATCH', '/Employees/999', { JobTitle: 'x' })
  expect(left.text.replace(`id ${id}`, 'id 999')).toBe(missing.text)
})

test('a rename of a row outside of the key’s right is 403 without a wait for the rows that copy its name', async () => {
  const { id } = await createRow(server, '/Employees', { CompanyId: 2, FirstName: 'before' })
  const { id: copying } = await createRow(server, '/Employees', { CompanyId: 2, ManagerId: id })
  await other.begin(async (transaction) => {
    await transaction`select from employee where id = ${copying} for update`
    expect(outcomeOf(await send(wide, 'PATCH', `/Employees/${id}`, { FirstName: 'x' }))).toBe('403 Forbidden CompanyId')
  })
})

test.each([true, false])(
  'a long rename waits for a transaction that moves the row out of the key’s right, and is 403 if that transaction commits: %p',
  async (commits) => {
    await server.sql`insert into employee (company_id, company_key) select 1, '=One' from generate_series(1, ${COPIES_MAX + 1})`
    const disable = (sql: postgres.TransactionSql) => sql`update company set enabled = false where id = 1`
    const answer = await beside({ commits }, disable, () => send(namer, 'PATCH', '/Companies/1', { Name: 'mine' }))
    expect(outcomeOf(answer)).toBe(commits ? '403 Forbidden Enabled' : '200')
    const [row] =
      await server.sql`select name, (select count(*)::int from employee where company = 'mine') as copies from company where id = 1`
    expect(row).toEqual(commits ? { name: 'One', copies: 0 } : { name: 'mine', copies: COPIES_MAX + 1 })
  },
)

describe('concurrent updates', () => {
  test('are each done or 404 while another transaction moves some of their rows out of the key’s right', async () => {
    const rows = await createRows(server, '/Employees', Array(12).fill({ CompanyId: 1, JobTitle: 'before' }))
    const ids = rows.map(({ id }) => id as number)
    const moved = ids.filter((id) => id % 3 === 0)
    const answers = await beside(
      { commits: true },
      async (sql) => {
        for (const id of moved) await moveTo(id, 2)(sql)
      },
      () => Promise.all(ids.map((id) => send(narrow, 'PATCH', `/Employees/${id}`, { JobTitle: `mine ${id}` }))),
    )
    expect(answers.map(outcomeOf)).toEqual(ids.map((id) => (moved.includes(id) ? '404 NotFound Api' : '200')))
    for (const [index, { body }] of answers.entries())
      if (!moved.includes(ids[index] as number)) expect(body).toMatchObject({ id: ids[index], jobTitle: `mine ${ids[index]}` })
    const titles = await server.sql`select id::int, job_title from employee order by id`
    expect(titles.map(({ job_title }) => job_title)).toEqual(ids.map((id) => (moved.includes(id) ? 'before' : `mine ${id}`)))
  })

  test('of two keys whose rights differ in a value change only the rows of their own right', async () => {
    const rows = await createRows(
      server,
      '/Employees',
      Array.from({ length: 16 }, (_, index) => ({ CompanyId: 1 + (index % 2), JobTitle: 'before' })),
    )
    const tries = rows.flatMap(({ id, companyId }) => [
      { id, key: ofOne, isOwn: companyId === 1 },
      { id, key: ofTwo, isOwn: companyId === 2 },
    ])
    const title = ({ id, key }: (typeof tries)[number]) => `${key === ofOne ? 'one' : 'two'} ${id}`
    const answers = await Promise.all(
      tries.map((one) => send(one.key, 'PATCH', `/Employees/${one.id}`, { JobTitle: title(one) })),
    )
    expect(answers.map(outcomeOf)).toEqual(tries.map(({ isOwn }) => (isOwn ? '200' : '404 NotFound Api')))
    for (const [index, one] of tries.entries())
      if (one.isOwn) expect(answers[index]?.body).toEqual({ id: one.id, jobTitle: title(one) })
    const [shared] = await server.sql`select count(distinct xmin::text)::int as statements, count(*)::int as rows from employee`
    expect(shared?.statements).toBeLessThan(shared?.rows)
  })
})

test('no write changes a row that is outside of the key’s right at the moment of the write, however rows are moved', async () => {
  // The trigger sees each row as it is when it is written, and by which key.
  await server.sql.unsafe(`
    create table stray (write text, company bigint, key text);
    create function note_stray() returns trigger language plpgsql as $$
      begin
        if current_setting('roster.key', true) = '${narrow.record.id}' then
          if old.company_id is distinct from 1 then insert into stray values (tg_op, old.company_id, 'before'); end if;
          if tg_op = 'UPDATE' and new.company_id is distinct from 1 then insert into stray values (tg_op, new.company_id, 'after'); end if;
        end if;
        return coalesce(new, old);
      end $$;
    create trigger note_stray before update or delete on employee for each row execute function note_stray()`)
  const ids = (await createRows(server, '/Employees', Array(8).fill({ CompanyId: 1, FirstName: 'before' }))).map(
    ({ id }) => id as number,
  )
  const anyOf = <T>(values: readonly T[]) => values[Math.floor(Math.random() * values.length)] as T
  const isOver = { value: false }
  const moving = Array.from({ length: 2 }, async () => {
    while (!isOver.value)
      await other.begin(async (sql) => {
        const id = anyOf(ids)
        await moveTo(id, anyOf([1, 2]))(sql)
        await Bun.sleep(Math.random() * 4)
      })
  })
  const statuses = new Map<number, number>()
  for (let round = 0; round < 25; round++) {
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => {
        const [, method, body, headers] = anyOf(WRITES.filter(([, one]) => one !== 'DELETE' || Math.random() < 0.02))
        const named = 'idempotency-key' in headers ? { 'idempotency-key': crypto.randomUUID() } : headers
        return send(narrow, method, `/Employees/${anyOf(ids)}`, body, named)
      }),
    )
    for (const { status } of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  isOver.value = true
  await Promise.all(moving)
  expect((await server.sql`select * from stray`).map((row) => ({ ...row }))).toEqual([])
  await server.sql.unsafe('drop trigger note_stray on employee; drop table stray')
  // Some were admitted, and some refused.
  for (const status of [200, 404]) expect(statuses.get(status)).toBeGreaterThan(10)
})

describe('concurrent creates', () => {
  test('each get their own row, or their own refusal', async () => {
    const bodies = Array.from({ length: 24 }, (_, index) => ({
      JobTitle: `title ${index}`,
      ...(index % 3 === 0 ? {} : { CompanyId: index % 3 }),
    }))
    const answers = await Promise.all(
      bodies.flatMap((body) => [ofOne, ofTwo].map((key) => send(key, 'POST', '/Employees', body))),
    )
    const expected = bodies.flatMap((body) =>
      [1, 2].map((company) => ('CompanyId' in body && body.CompanyId !== company ? null : { ...body, company })),
    )
    expect(answers.map(({ status, body }) => (status === 201 ? body.jobTitle : outcomeOf({ status, body } as Answer)))).toEqual(
      expected.map((row) => row?.JobTitle ?? '403 Forbidden CompanyId'),
    )
    for (const [index, { body }] of answers.entries()) {
      const row = expected[index]
      if (!row) continue
      const [found] = await server.sql`select job_title, company_id::int from employee where id = ${body.id}`
      expect({ ...found }).toEqual({ job_title: row.JobTitle, company_id: row.company })
    }
    expect((await server.sql`select from employee`).count).toBe(expected.filter(Boolean).length)
  })
})

test('concurrent creates are each done once, even if a trigger of the operator changes the values that a right checks', async () => {
  await server.sql.unsafe(`
    create function shout() returns trigger language plpgsql as $$ begin new.job_title := upper(new.job_title); return new; end $$;
    create trigger shout before insert on employee for each row execute function shout()`)
  try {
    const bodies = Array.from({ length: 30 }, (_, index) => ({ JobTitle: `${index % 3 === 2 ? 'no' : 'yes'} ${index}` }))
    const answers = await Promise.all(bodies.map((body) => send(titled, 'POST', '/Employees', body)))
    expect(answers.map(({ status }) => status)).toEqual(bodies.map(({ JobTitle }) => (JobTitle.startsWith('no') ? 403 : 201)))
    expect((await server.sql`select from employee`).count).toBe(20)
  } finally {
    await server.sql.unsafe('drop trigger shout on employee; drop function shout()')
  }
})

test.each(['PATCH', 'PUT'])(
  'a %s with a reference to a hidden row is 409, without a wait for the lock of that row',
  async (method) => {
    const [{ id: own }, { id: hidden }] = (await createRows(server, '/Employees', [{ CompanyId: 1 }, { CompanyId: 2 }])) as [
      { id: number },
      { id: number },
    ]
    const body = { FirstName: 'Abe', CompanyId: 1, ManagerId: hidden }
    await rolledBack(other, async (transaction) => {
      await transaction`select from employee where id = ${hidden} for update`
      const answer = await send(boss, method, `/Employees/${own}`, body)
      expect(outcomeOf(answer)).toBe('409 ReferenceNotFound ManagerId')
    })
  },
)

describe('a reference to a row that another transaction moves out of the key’s right to read', () => {
  const FORMS: [form: string, method: string, body: (id: number) => unknown][] = [
    ['a create', 'POST', (id) => ({ EmployeeId: id })],
    ['several rows', 'POST', (id) => [{ Status: 'x' }, { EmployeeId: id }]],
    ['an update', 'PATCH', (id) => ({ EmployeeId: id })],
  ]
  test.each(FORMS.flatMap(([form, method, body]) => [[form, method, body, true] as const, [form, method, body, false] as const]))(
    'in %s by %s waits for that transaction, and is 409 if it commits',
    async (_, method, body, commits) => {
      const { id } = await createRow(server, '/Employees', { CompanyId: 1, FirstName: 'before' })
      const { id: absence } = await createRow(server, '/Absences', {})
      const rename = async (sql: postgres.TransactionSql) => {
        await moveTo(id, 2)(sql)
        await sql`update employee set first_name = 'after' where id = ${id}`
      }
      const path = method === 'POST' ? '/Absences' : `/Absences/${absence}`
      const answer = await beside({ commits }, rename, () => send(clerk, method, path, body(id)))
      const target = Array.isArray(body(id)) ? '[1].EmployeeId' : 'EmployeeId'
      expect(outcomeOf(answer)).toBe(commits ? `409 ReferenceNotFound ${target}` : method === 'POST' ? '201' : '200')
      expect((await server.sql`select from absence where employee_id is not null`).count).toBe(commits ? 0 : 1)
    },
  )
})
