import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { copyCluster } from '../support/cluster.ts'
import { readPage } from '../support/documents.ts'
import { endPrograms, temporaryFolder } from '../support/process.ts'
import { headersOf } from '../support/requests.ts'
import { scrape, valueIn } from '../support/scrape.ts'
import { KEY } from '../support/server.ts'
import { exchange } from '../support/socket.ts'
import { startProcess } from '../support/start.ts'

// A project that depends on Roster: the package is packed by npm, and installed with its dependencies as npm does.

const ROOT = join(import.meta.dir, '../..')

const folder = temporaryFolder()
const project = join(folder.path, 'bookings')
const modules = join(project, 'node_modules')
const ROSTER = join(modules, '.bin/roster')
/** The project's server, as its `npm start` runs it. */
const SERVER = ['sh', '-c', `cd '${project}' && exec ${ROSTER}`]
let packed = ''

/** Runs a program of the project to its end. */
async function done(command: string[], environment: Record<string, string> = {}, cwd = project) {
  const env = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...environment }
  const child = Bun.spawn(command, { cwd, env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
  const [out, said] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { code: await child.exited, out, said }
}

beforeAll(async () => {
  mkdirSync(join(modules, '.bin'), { recursive: true })
  packed = (await done(['npm', 'pack', '--silent', '--pack-destination', folder.path], {}, ROOT)).out.trim()
  expect((await done(['tar', 'xzf', join(folder.path, packed), '-C', modules])).code).toBe(0)
  expect((await done(['mv', join(modules, 'package'), join(modules, 'roster')])).code).toBe(0)
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const needed = [...Object.keys({ ...dependencies, ...optionalDependencies }), '@oven']
  for (const name of readdirSync(join(ROOT, 'node_modules')))
    if (!name.startsWith('.') && name !== 'roster')
      if (needed.some((one) => one === name || one.startsWith(`${name}/`)) || !name.startsWith('@'))
        symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
  symlinkSync('../roster/src/launch.mjs', ROSTER)
})
afterAll(endPrograms)

describe('a project that depends on Roster', () => {
  test('the installed package contains only the program, its license and its docs', () => {
    expect(readdirSync(join(modules, 'roster')).sort()).toEqual(
      ['CHANGELOG.md', 'LICENSE', 'README.md', 'docs', 'package.json', 'sql', 'src'].sort(),
    )
  })

  test('init creates a project, does not overwrite existing files, and refuses to run again', async () => {
    writeFileSync(join(project, 'package.json'), '{"name": "bookings", "type": "commonjs", "scripts": {"start": "roster serve"}}')
    writeFileSync(join(project, '.gitignore'), 'dist\n.data/')
    writeFileSync(join(project, '.env'), 'ENTITIES_DIR=./entities\n')
    const { code, said } = await done([ROSTER, 'init', '.'])
    expect([code, said]).toEqual([0, expect.stringContaining('npm start serves /Bookings')])
    const manifest = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'))
    expect(manifest).toMatchObject({ name: 'bookings', type: 'commonjs', scripts: { start: 'roster serve' } })
    expect(readFileSync(join(project, '.gitignore'), 'utf8')).toBe('dist\n.data/\nnode_modules\n')
    expect(readFileSync(join(project, '.env'), 'utf8')).toBe('ENTITIES_DIR=./entities\nMIGRATIONS_DIR=migrations\n')
    const again = await done([ROSTER, 'init', '.'])
    expect([again.code, again.said]).toEqual([1, expect.stringContaining('nothing was written')])
  })

  test('init for another folder uses the same package as the project in which it runs', async () => {
    const manifest = join(project, 'package.json')
    const before = readFileSync(manifest, 'utf8')
    const sourceOf = async (name: string) => {
      const { code, said } = await done([ROSTER, 'init', name])
      expect([code, said]).toEqual([0, expect.stringContaining('after npm install, npm start serves')])
      const made = JSON.parse(readFileSync(join(project, name, 'package.json'), 'utf8'))
      return made.dependencies.roster
    }
    writeFileSync(manifest, before.replace(/"roster": ".*"/, '"roster": "file:../roster.tgz"'))
    expect(await sourceOf('../_Rooms & Desks')).toBe('file:../roster.tgz')
    expect(await sourceOf('../deep/here')).toBe('file:../../roster.tgz')
    writeFileSync(manifest, before)
  })

  test('init and generate client work in a project with a linked checkout of Roster', async () => {
    const linked = join(folder.path, 'linked')
    mkdirSync(join(linked, 'node_modules'), { recursive: true })
    const launcher = join(linked, 'node_modules/roster/src/launch.mjs')
    symlinkSync(ROOT, join(linked, 'node_modules/roster'))
    expect((await done(['node', launcher, 'init', '.'], {}, linked)).said).toContain('npm start serves /Bookings')
    const client = await done(['node', launcher, 'generate', 'client'], {}, linked)
    expect(client.out).toContain('readonly bookings:')
    expect(client.out).not.toContain('readonly employees:')
    expect(JSON.parse(readFileSync(join(linked, 'package.json'), 'utf8')).dependencies.roster).toMatch(/^file:/)
  })

  test('a project serves only its own entity, with a migration that a command writes for each change', async () => {
    const dataDir = join(folder.path, 'data')
    copyCluster(dataDir)
    const settings = { DATA_DIR: dataDir, PORT: '0', WORKERS: '1', BOOTSTRAP_API_KEY: KEY }
    const written = readFileSync(join(project, 'migrations/1001_booking.sql'), 'utf8')
    expect(written).toContain('create table booking (')
    const compared = await done([ROSTER, 'generate', 'migration'], settings)
    expect([compared.code, compared.said]).toEqual([0, 'roster: the tables are as the entities declare them\n'])
    const file = join(project, 'entities/booking.ts')
    const declared = readFileSync(file, 'utf8')
    writeFileSync(file, declared.replace('    seats:', '    note: text({ indexed: false }),\n    seats:'))
    const changed = await done([ROSTER, 'generate', 'migration', 'note'], settings)
    expect(changed.said).toBe('roster: wrote migrations/1002_note.sql, which the next start applies; read it before\n')
    expect(readFileSync(join(project, 'migrations/1002_note.sql'), 'utf8')).toBe(
      'alter table booking add column note text collate "und-x-icu";\n',
    )
    const { server, ask } = await startProcess(settings, SERVER)
    const own = { Reference: 'B-1', Room: 'Blue', FirstDay: '2026-03-02', Note: 'by the window' }
    const made = await ask('POST', '/Bookings', own)
    const expected = { id: 1, room: 'Blue', firstDay: '2026-03-02', note: 'by the window' }
    expect([made.status, made.body]).toEqual([201, expect.objectContaining(expected)])
    expect((await ask('POST', '/Bookings', own)).status).toBe(409)
    expect((await ask('GET', '/Bookings?FirstDay=%3E2026-03-01&Status=')).body).toHaveLength(1)
    expect((await ask('GET', '/Companies')).status).toBe(404)
    const client = await done([ROSTER, 'generate', 'client'])
    expect(client.out).toContain("status: 'Requested' | 'Approved' | 'Declined' | null")
    const key = await done([ROSTER, 'keys', 'create', '--name', 'desk', '--rights', 'Bookings:read'], settings)
    expect([key.code, key.out]).toEqual([0, expect.stringContaining('the rights Bookings:read')])
    expect(await server.stop()).toBe(0)
  })

  test('routes that a project adds are served together with its entities, with keys and limits', async () => {
    // The app in the docs.
    const [, app = ''] = /^```ts\n\/\/ app\.ts\n([\s\S]*?)^```$/m.exec(readPage('docs/entities.md')) ?? []
    const more = `
  .post('/Bookings/:id/twice', async ({ request, params }) => {
    await ask(request, 'PATCH', ['Bookings', params.id], { Status: 'Approved' })
    return ask(request, 'POST', ['Bookings'], { Reference: 'B-10', Room: 'Red', FirstDay: '2026-03-03' })
  })
  .post('/fails', () => { throw new Error('a secret') })
  .post('/cookies/:count', ({ cookie, params }) => {
    for (let at = 0; at < Number(params.count); at++) cookie[\`c\${at}\`].value = at
    return 'set'
  })
  .post(
    '/open',
    async ({ request, set }) => {
      const { length } = await request.text()
      set.headers['x-own'] = 'yes'
      set.status = 418
      return \`\${length} \${(await ask(request, 'GET', ['Bookings'])).status}\`
    },
    { parse: 'none', detail: { security: [] } },
  )
`
    writeFileSync(join(project, 'app.ts'), `${app.trimEnd()}${more}`)
    const settings = { DATA_DIR: join(folder.path, 'data'), APP_FILE: 'app.ts', ADMIN_PORT: '0' }
    const { server, url, ask } = await startProcess(settings, SERVER)
    const { id } = (await ask('POST', '/Bookings', { Reference: 'B-9', Room: 'Red', FirstDay: '2026-03-02' })).body
    const approve = (one: number | string = id, more: Record<string, string> = {}) =>
      ask('POST', `/Bookings/${one}/approve`, undefined, more)
    const approved = await approve()
    expect([approved.status, approved.body]).toEqual([200, expect.objectContaining({ id, status: 'Approved' })])
    expect(approved.headers.get('x-ratelimit-remaining')).toMatch(/^\d+$/)
    expect((await ask('GET', `/Bookings/${id}`)).body).toMatchObject({ status: 'Approved', room: 'Red' })
    expect((await fetch(`${url}/Bookings/${id}/approve`, { method: 'POST' })).status).toBe(401)
    expect((await approve(999_999)).status).toBe(404)
    const twice = () => ask('POST', `/Bookings/${id}/twice`, undefined, { 'idempotency-key': 'a' })
    const [first, again] = [await twice(), await twice()]
    expect([first.status, again.status, again.body]).toEqual([201, 201, first.body])
    const options = await fetch(`${url}/Bookings/${id}/approve`, { method: 'OPTIONS' })
    expect([options.status, options.headers.get('allow')]).toEqual([204, 'POST, OPTIONS'])
    expect((await ask('PUT', `/Bookings/${id}/approve`, {})).status).toBe(405)
    expect((await approve(id, { 'if-match': '"no-1"' })).status).toBe(412)
    // An encoded slash does not split a segment.
    for (const odd of ['%2e%2e%2fBookings%2f1', '1%2F..%2F1', '1%3FStatus=', '%00'])
      expect([odd, (await approve(odd)).status]).toEqual([odd, 404])
    const hook = (path: string, init: RequestInit = {}) => fetch(`${url}${path}`, { method: 'POST', ...init })
    const headers = headersOf(KEY)
    const failed = await ask('POST', '/fails')
    const { Code, Message } = failed.body.Error
    expect([failed.status, Code, failed.headers.get('x-content-type-options')]).toEqual([500, 'InternalError', 'nosniff'])
    expect(Message).toContain(failed.headers.get('x-request-id') as string)
    expect(JSON.stringify(failed.body)).not.toContain('a secret')
    await server.waitFor(/a request failed.*a secret/)
    expect((await hook('/fails')).status).toBe(401)
    const cookies = await hook('/cookies/1', { headers })
    expect([cookies.status, cookies.headers.getSetCookie()]).toEqual([200, ['c0=0; Path=/']])
    expect((await hook('/cookies/2', { headers })).status).toBe(500)
    await server.waitFor(/sets more than one cookie/)
    const large = await hook('/open', { body: 'x'.repeat(2 ** 20 + 1) })
    expect([large.status, large.headers.get('connection')]).toEqual([413, 'close'])
    const open = await hook('/open', { body: 'ab' })
    expect([open.status, await open.text(), open.headers.get('x-own')]).toEqual([418, '2 401', 'yes'])
    expect(open.headers.get('x-ratelimit-remaining')).toMatch(/^\d+$/)
    expect(await exchange(url, 'POST /open HTTP/1.0\r\nContent-Length: 2\r\n\r\nab')).toContain('2 401')
    const [, admin = ''] = await server.waitFor(/Metrics: (http:\S+)\/metrics/)
    const counted = await scrape(admin)
    const own = (route: string, status: number) =>
      valueIn(counted, `roster_http_requests_total{route="${route}",method="POST",status="${status}"}`)
    const approvals = '/Bookings/{id}/approve'
    expect([own(approvals, 200), own(approvals, 412), own('/open', 413)]).toEqual([1, 1, 1])
    // A route of neither app is answered as without one.
    expect((await ask('GET', '/Booking')).status).toBe(404)
    expect((await ask('GET', '/livez')).status).toBe(200)
    expect(await server.stop()).toBe(0)
    writeFileSync(join(project, 'app.ts'), app.replace('.post(', '.all('))
    const refused = await done([ROSTER, 'serve'], { ...settings, PORT: '0' })
    expect([refused.code, refused.said]).toEqual([1, expect.stringContaining('cannot have the route ALL /')])
  })

  test('a project compiles with the types of the package, its routes and its generated client', async () => {
    writeFileSync(join(project, 'roster.ts'), (await done([ROSTER, 'generate', 'client'])).out)
    writeFileSync(
      join(project, 'typed.ts'),
      `import { collectionAt, connect } from 'roster/client'
import { type Booking, type BookingKinds, createRoster } from './roster.ts'

const options = { url: 'http://127.0.0.1:3000', key: 'k' }
const { bookings } = createRoster(options)
const same = collectionAt<Booking, object, object, never, keyof Booking, BookingKinds>(connect(options), '/Bookings')
const room: string | null = (await same.get(1, { fields: ['room'] })).room
await bookings.update(2, { room })
const status: 'Requested' | 'Approved' | 'Declined' | null = (await bookings.get(1)).status
// @ts-expect-error the entity has no such text
await bookings.update(1, { status: status === null ? 'Lost' : status })
`,
    )
    const { code, out } = await done([join(ROOT, 'node_modules/.bin/tsc'), '-p', '.'])
    expect([code, out]).toEqual([0, ''])
    for (const file of ['roster.ts', 'typed.ts']) rmSync(join(project, file))
  })

  test('the test in a new project passes', async () => {
    const dataDir = join(folder.path, 'tested')
    copyCluster(dataDir)
    const file = join(project, 'test/booking.test.ts')
    const text = readFileSync(file, 'utf8').replace(/mkdtempSync\(.*\)\n/, `'${dataDir}'\n`)
    writeFileSync(file, text.replace('mkdtempSync, ', '').replace(/^import .*node:(os|path)'\n/gm, ''))
    const { code, said } = await done([ROSTER, 'bun', 'test'])
    expect([code, said]).toEqual([0, expect.stringContaining('1 pass')])
  })

  test('faulty folders and files of a project are each reported in one line, without a stack trace', async () => {
    const settings = { DATA_DIR: join(folder.path, 'none'), PORT: '0', DATABASE_URL: 'postgres://127.0.0.1:1/none' }
    const page = join(folder.path, 'pages')
    mkdirSync(page)
    writeFileSync(
      join(page, 'page.ts'),
      `import { defineEntity, identity, text } from '${join(ROOT, 'src/model/entity.ts')}'
export default defineEntity('Page', { id: identity(), cursor: text() })
`,
    )
    for (const [words, own, message] of [
      [[], { ENTITIES_DIR: 'nowhere' }, /^roster: the entities cannot be used: .*nowhere cannot be read \(ENOENT\)/],
      [[], { ENTITIES_DIR: page }, /^roster: the entities cannot be used: page\.ts: Page cannot have .* cursor/],
      [['generate', 'client'], { ENTITIES_DIR: page }, /^roster: page\.ts: Page cannot have a property called cursor/],
      [[], { MIGRATIONS_DIR: 'nowhere' }, /the migrations of nowhere cannot be read \(ENOENT\)/],
    ] as const) {
      const { code, said } = await done([ROSTER, ...words], { ...settings, ...own })
      expect([
        code,
        said
          .trim()
          .split('\n')
          .filter((line) => line.startsWith('roster: ')),
      ]).toEqual([1, [expect.stringMatching(message)]])
      expect(said).not.toMatch(/^ +at /m)
    }
  })

  test('a start fails and names the missing package if the dependencies are not installed', async () => {
    const alone = join(folder.path, 'alone')
    mkdirSync(alone)
    await done(['tar', 'xzf', join(folder.path, packed), '-C', alone])
    const { code, said } = await done(['node', join(alone, 'package/src/launch.mjs')], {}, alone)
    expect([code, said]).toEqual([1, expect.stringMatching(/^roster: .*elysia 1\.4\.30.* cannot be found: run npm install/)])
  })
})
