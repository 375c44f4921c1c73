import { expect, test } from 'bun:test'
import { useDatabase } from '../support/database.ts'
import { rosterHere } from './roster.ts'

const URL_GIVEN = 'https://8.8.8.8/hook?token=1'
const { url: DATABASE_URL, sql } = useDatabase()

const hooks = (words: string[], more: Record<string, string> = {}) => rosterHere(['hooks', ...words], { DATABASE_URL, ...more })
const add = (...words: string[]) => hooks(['add', '--url', URL_GIVEN, ...words])

test('a hook is added, listed, paused, resumed and removed', async () => {
  expect((await hooks(['list'])).stdout).toBe('There are no hooks.\n')
  const made = await add('--entity', 'employees:Update', '--entity', 'Absences')
  expect(made).toMatchObject({ code: 0, stderr: '' })
  const [, id = ''] = /^Made the hook ([0-9a-z]{10}) for /.exec(made.stdout) ?? []
  expect(made.stdout).toContain('for Absences:create, Absences:delete, Absences:update, Employees:update.')
  expect(made.stdout.trimEnd().split('\n').at(-1)).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  const listed = (await hooks(['list'])).stdout
  expect(listed).toContain(`${id}  https://8.8.8.8/hook?...  Absences:create,delete,update Employees:update  active`)
  expect(listed).not.toContain('token')
  expect((await hooks(['pause', id])).stdout).toBe(`Paused the hook ${id}.\n`)
  expect((await hooks(['list'])).stdout).toMatch(/paused since \d{4}-/)
  await sql`update hook set state = 'parked', reason = 'for a test', last_status = '500', last_attempt = now()`
  expect((await hooks(['list'])).stdout).toMatch(/parked since \S+: for a test +500 \(\S+\) +0\n/)
  expect((await hooks(['resume', id, '--skip'])).stdout).toBe(`Resumed the hook ${id}.\n`)
  expect(JSON.parse((await hooks(['list', '--json'])).stdout)).toMatchObject([{ id, state: 'active', waiting: 0 }])
  const near = await hooks(['remove', `${id.slice(0, 9)}-`])
  expect(near).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(`Did you mean ${id}?`) })
  expect((await hooks(['remove', id])).stdout).toBe(`Removed the hook ${id}.\n`)
})

test('a resumed hook whose position is ahead of a restored database continues at the first kept change', async () => {
  const { stdout } = await add('--entity', '*', '--json')
  const { id } = JSON.parse(stdout)
  await sql`update hook set position = 9000000000000000000, state = 'parked' where id = ${id}`
  const { stdout: resumed } = await hooks(['resume', id, '--json'])
  expect(JSON.parse(resumed)).toEqual({ id, isMissing: true })
  const [place] = await sql`
    select position = deleted_position as "isFirst" from hook, change_feed where id = ${id}`
  expect(place?.isFirst).toBe(true)
  expect(JSON.parse((await hooks(['resume', id, '--json'])).stdout)).toEqual({ id, isMissing: false })
  await hooks(['remove', id])
})

test.each([
  [['--entity', 'Employes:update'], 'Did you mean Employees?'],
  [['--entity', 'Employees:updated'], 'Did you mean update?'],
  [['--entity', 'Employees:'], 'is not what can happen to a row'],
  [[], "required option '--entity <events>' or '--right <right>' not specified"],
])('hooks add refuses an unknown or missing event with exit code 2: %j', async (words, why) => {
  expect(await add(...words)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(why) })
})

test('a hook with rights is listed, and is stored so that older versions of the server post none of its events', async () => {
  const right = 'read employees?fields=JobTitle,id'
  const made = await add('--right', right, '--right', 'read Companies', '--json')
  expect(made).toMatchObject({ code: 0, stderr: '' })
  const { id, events, rights } = JSON.parse(made.stdout)
  expect(rights).toBe('read Employees?fields=Id,JobTitle\nread Companies')
  const all = ['Companies', 'Employees'].flatMap((plural) =>
    ['create', 'delete', 'update'].map((action) => `${plural}:${action}`),
  )
  expect(events).toEqual(all)
  expect((await hooks(['list'])).stdout).toContain('read Employees?fields=Id,JobTitle; read Companies')
  expect(JSON.parse((await hooks(['list', '--json'])).stdout)).toMatchObject([{ id, events: all, rights, waiting: 0 }])
  expect(await sql`select to_json(events) as events from hook where id = ${id}`).toMatchObject([{ events: [] }])
  expect((await add('--entity', 'Employees:update', '--right', right)).stdout).toContain(
    'rights read Employees?fields=Id,JobTitle.',
  )
  expect((await add('--entity', '*', '--right', right)).code).toBe(0)
  await sql`delete from hook`
})

test.each([
  [['--right', 'read Employees?Status=New'], 'the right of a hook has no filters'],
  [['--right', 'read Employees?CompanyId.Name=Acme'], 'the right of a hook has no filters'],
  [['--right', 'update Employees?fields=Title'], 'a hook reads, and cannot update'],
  [['--right', 'write Employees'], 'a hook reads, and cannot create'],
  [['--right', 'read Employees?fields=Titel'], 'Title'],
  [['--right', 'read Employees', '--right', 'read Employees?fields=Id'], 'there is another right'],
  [['--right', 'read Employees', '--entity', 'Absences'], "add --right 'read Absences'"],
  [['--right', 'read Employees', '--right', 'read Absences', '--entity', 'Absences'], 'names no event of Employees'],
])('hooks add refuses rights that a hook cannot have with exit code 2: %j', async (words, why) => {
  expect(await add(...words)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(why) })
})

test.each([
  ['http://8.8.8.8/', 'http:// is refused'],
  ['https://127.0.0.1/', '127.0.0.1 is a private address'],
  ['https://localhost/', 'is a private address'],
  ['https://[::ffff:10.0.0.1]/', 'is a private address'],
])('hooks add refuses a URL to which a server must not post: %s', async (url, why) => {
  const refused = await hooks(['add', '--url', url, '--entity', '*'])
  expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(why) })
})

test('hooks add accepts a URL that HOOKS_ALLOW names, and refuses an invalid or missing one with exit code 2', async () => {
  const words = ['add', '--url', 'http://127.0.0.1:9/', '--entity', '*', '--json']
  const { code, stdout } = await hooks(words, { HOOKS_ALLOW: '127.0.0.1' })
  expect([code, JSON.parse(stdout).events]).toEqual([0, ['*']])
  expect(await hooks(['add', '--url', 'nowhere', '--entity', '*'])).toMatchObject({ code: 2, stdout: '' })
  expect(await hooks(['add', '--entity', '*'])).toMatchObject({ code: 2, stderr: expect.stringContaining('--url') })
})

test('commands for hooks are refused if no server could deliver: with CHANGES_DAYS=0, or with a pooler and no DATABASE_DIRECT_URL', async () => {
  const none = await hooks(['list'], { CHANGES_DAYS: '0' })
  const stderr = 'roster: there are no hooks without what has changed: the setting CHANGES_DAYS is 0\n'
  expect(none).toMatchObject({ code: 1, stderr })
  const pooled = await hooks(['list'], { DATABASE_PREPARE: 'false' })
  expect(pooled).toMatchObject({ code: 1, stderr: expect.stringContaining('set DATABASE_DIRECT_URL') })
})

test('commands for hooks do not change a database that lacks the table of hooks', async () => {
  await sql`alter table hook rename to hook_away`
  const { code, stderr } = await hooks(['list'])
  await sql`alter table hook_away rename to hook`
  expect([code, stderr]).toEqual([1, expect.stringContaining('start a server on it first')])
})
