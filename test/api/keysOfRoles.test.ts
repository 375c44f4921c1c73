// Keys whose rights are those of a block of the roles file. D102
import { describe, expect, setSystemTime, test } from 'bun:test'
import { makeKey } from '../support/server.ts'
import { startServer } from '../support/start.ts'

const FILE = `view Team Employees?Department=IT&fields=Id,KnownAs
role all
  read Employees
key payroll
  read Absences?Status=Approved&fields=Reason
  create Absences?Status=Requested&fields=Reason
  read Team
key recent
  read Absences?Start=<={now}
`
const roleKey = (role: string) => makeKey({ rights: '', addresses: null, role })

test('A key has the rights of its block in the roles file, and none of a role', async () => {
  const key = roleKey('payroll')
  const server = await startServer({ roles: FILE, keys: [key.record] })
  await server.post('/Absences', [{ status: 'Approved', reason: 'Flu' }, { status: 'Declined' }])
  await server.post('/Employees', { knownAs: 'Ann', department: 'IT' })
  const get = async (path: string) => {
    const { status, body } = await server.get(path, key.headers)
    return [status, body]
  }
  expect(await get('/Absences')).toEqual([200, [{ id: 1, reason: 'Flu' }]])
  expect(await get('/Team')).toEqual([200, [{ id: 1, knownAs: 'Ann' }]])
  expect(await get('/Employees')).toEqual([
    403,
    expect.objectContaining({ Error: expect.objectContaining({ Message: 'The key does not have the right read Employees.' }) }),
  ])
  const [status, rights] = await get('/Rights')
  expect([status, (rights as { text: string }[]).map(({ text }) => text)]).toEqual([
    200,
    ['read Absences?Status=Approved&fields=Id,Reason', 'create Absences?Status=Requested&fields=Reason', 'read Team'],
  ])
})

test.each([
  ['that has no such block', FILE, 'The key has no rights: the roles file has no block "key gone".'],
  [
    'that only has a role of this name',
    `${FILE}role gone\n  read Absences\n`,
    'The key has no rights: the roles file has no block "key gone".',
  ],
  [
    'that is missing',
    undefined,
    'The key has no rights: its rights are those of the block "key gone" of a roles file, and ROLES_FILE names none.',
  ],
])('With a roles file %s a key has no rights, and 403 says so', async (_what, roles, message) => {
  const key = roleKey('gone')
  const server = await startServer({ keys: [key.record], ...(roles !== undefined && { roles }) })
  for (const path of ['/Absences', '/Employees/1', '/Companies/Summary'])
    expect(await server.get(path, key.headers)).toMatchObject({ status: 403, body: { Error: { Message: message } } })
  const { status, body } = await server.get('/Rights', key.headers)
  expect([status, body.Error.Message]).toEqual([403, message.replace('no rights', 'no rights any more')])
})

describe('{now} in the rights of a key', () => {
  test('is the present minute, and a cursor stays valid when the minute changes', async () => {
    const key = roleKey('recent')
    const server = await startServer({ roles: FILE, keys: [key.record] })
    const start = (minute: number) => `2026-11-29T12:${String(minute).padStart(2, '0')}:00Z`
    await server.post(
      '/Absences',
      Array.from({ length: 12 }, (_, minute) => ({ start: start(minute) })),
    )
    try {
      setSystemTime(new Date(start(9)))
      const first = await server.get('/Absences?PageSize=5&sort=Start', key.headers)
      expect([first.headers.get('x-total-count'), (first.body as unknown[]).length]).toEqual(['10', 5])
      const next = /<([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? ''
      setSystemTime(new Date(start(10)))
      const { status, headers } = await server.get(next.replace(/^https?:\/\/[^/]+/, ''), key.headers)
      expect([status, headers.get('x-total-count')]).toEqual([200, '11'])
    } finally {
      setSystemTime()
    }
  })
})
