import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { settings as declaredSettings } from '../../src/config/settings.ts'
import type { LogFields } from '../../src/log.ts'
import { isGroup } from '../../src/model/entity.ts'
import { operators } from '../../src/model/operators.ts'
import { pythonPrograms } from '../python/environment.ts'
import { copyCluster } from '../support/cluster.ts'
import {
  canonical,
  type Exchange,
  exchangesOf,
  isOfExample,
  newFilesOf,
  readPage,
  SHOWN_URL,
  shownFilesOf,
  withAnswers,
} from '../support/documents.ts'
import { entities } from '../support/entities.ts'
import { outputsOf, scriptOf } from '../support/pageScript.ts'
import { PlainIssuer } from '../support/plainIssuer.ts'
import { asPlainRole, connect, createSampleDatabase } from '../support/postgres.ts'
import { endPrograms, leaveOut, run, temporaryFolder } from '../support/process.ts'
import { quietLog } from '../support/quietLog.ts'
import { KEY, openServer, type TestServer } from '../support/server.ts'
import { LISTENS } from '../support/serverProcesses.ts'

// Every request that a page shows is sent, in order, to a server that has the sample and nothing else, one for each page;
// its answer must be what the page prints. `WRITE_ANSWERS=1 npm test -- house/docs` writes what has changed into the pages.

const ROOT = join(import.meta.dir, '../..')
const README = 'README.md'
const pages = [README, ...new Bun.Glob('docs/**/*.md').scanSync(ROOT)]
  .map((path) => ({ path, text: readPage(path) }))
  .map((page) => ({ ...page, exchanges: exchangesOf(page.text) }))
const { bin: pythonBin, lack: pythonLack } = await pythonPrograms()
const needsPython = ({ exchanges }: { exchanges: Exchange[] }) => exchanges.some(({ program }) => program === 'python')
const livePages = pages.filter(({ exchanges }) => exchanges.length > 0).filter((page) => pythonBin !== null || !needsPython(page))

const folder = temporaryFolder()
const PERSONS = 'docs/persons.md'
/** They need a server's own process: of the README's first start, with another project, with a roles file, that delivers hooks. */
const OF_PROCESSES = [README, 'docs/entities.md', PERSONS, 'docs/webhooks.md']
/** The server of the page about persons trusts it. */
const issuer = new PlainIssuer()
const sites = new Map<string, Site>()
const servers: TestServer[] = []
/** All pages are asked at once: what a line says of a busy machine is not of the request. */
const LATE = /\bno answer within \d+ ms\b|a slow statement/
const siteOf = (path: string) => sites.get(path) as Site

type Page = (typeof pages)[number]

/** The README's server is that of `npm start`; the others share the tests' PostgreSQL. */
async function settingsFor(path: string, dataDir: string): Promise<Record<string, string>> {
  if (path === README) {
    copyCluster(dataDir)
    return { DATA_DIR: dataDir }
  }
  const database = await createSampleDatabase()
  const sql = connect(database)
  // A fork may have added the entity of an example; here the page's command does.
  await sql`drop table if exists office`
  await sql`delete from migration where file like '%\\_office.sql'`
  await sql.end()
  const url = await asPlainRole(database)
  mkdirSync(dataDir)
  writeFileSync(join(dataDir, 'development.key'), KEY)
  return { DATA_DIR: dataDir, DATABASE_URL: url, BOOTSTRAP_API_KEY: KEY, WORKERS: '1' }
}

/** Settings of the page's server alone, and the token of an employee for its requests. */
function signInFor(path: string): { server: Record<string, string>; shell: Record<string, string> } {
  if (path !== PERSONS) return { server: {}, shell: {} }
  const ROSTER_TOKEN = issuer.token({ sub: 'charles', email: 'charles.babbage@example.com', email_verified: true })
  return { server: issuer.settings, shell: { ROSTER_TOKEN } }
}

/** The project, with the files that the page adds. */
function projectFor(path: string, text: string): string {
  const added = newFilesOf(text)
  if (added.length === 0) return ROOT
  const project = join(folder.path, `${path.replaceAll('/', '.')}.project`)
  for (const part of ['src', 'sql', 'package.json', 'tsconfig.json', 'bunfig.toml'])
    cpSync(join(ROOT, part), join(project, part), { recursive: true, filter: (from) => !isOfExample(from) })
  symlinkSync(join(ROOT, 'node_modules'), join(project, 'node_modules'))
  // Migrations are written by the page's own command.
  for (const { path: file, text: content } of added) if (!file.endsWith('.sql')) writeFileSync(join(project, file), content)
  return project
}

interface Site {
  readonly project: string
  readonly settings: Record<string, string>
  /** What the commands have printed. */
  readonly outputs: readonly string[]
  readonly log: string
}

/** The migration that a page shows, as the page's command has written it. */
function migrationOf(page: string, project: string) {
  const shown = newFilesOf(page).find(({ path }) => path.endsWith('.sql'))
  if (!shown) return null
  const suffix = shown.path.replace(/^sql\/\d{4}/, '')
  const file = readdirSync(join(project, 'sql')).find((name) => name.endsWith(suffix)) as string
  return { shown, file, written: readFileSync(join(project, 'sql', file), 'utf8') }
}

function withMigration(page: string, project: string): string {
  const migration = migrationOf(page, project)
  if (!migration) return page
  const { shown, file, written } = migration
  return page.replace(`-- ${shown.path}\n${shown.text}`, () => `-- sql/${file}\n${written}`)
}

/** A server needs the tables of its entities. */
const isBeforeStart = ({ command }: Exchange) => command.includes('generate migration')

async function serve({ path, text, exchanges }: Page): Promise<Site> {
  const dataDir = join(folder.path, path.replaceAll('/', '.'))
  const settings = { ...(await settingsFor(path, dataDir)), PUBLIC_URL: SHOWN_URL, LOG_LEVEL: 'warn' }
  const project = projectFor(path, text)
  const signIn = signInFor(path)
  const bun = `cd '${project}' && exec '${process.execPath}' --no-env-file`
  const shellOf = (some: readonly Exchange[], port: string) =>
    run(['sh', '-c', `cd '${project}'\n${scriptOf(some, { port, dataDir, pythonBin })}`], { ...settings, ...signIn.shell })
  const before = shellOf(exchanges.filter(isBeforeStart), '0')
  await before.ended
  const startProcess = async () => {
    const server = run(['sh', '-c', `${bun} src/main.ts`], { ...settings, ...signIn.server, PORT: '0' })
    // A port that was free a moment ago may be another program's by now.
    const [, url = ''] = await server.waitFor(LISTENS)
    return { url, log: () => server.output() }
  }
  const { url, log } = await (OF_PROCESSES.includes(path) ? startProcess() : startHere(settings))
  const shell = shellOf(
    exchanges.filter((exchange) => !isBeforeStart(exchange)),
    new URL(url).port,
  )
  await shell.ended
  const [first, others] = [outputsOf(before.output(), { dataDir }), outputsOf(shell.output(), { dataDir })]
  const outputs = exchanges.map((exchange) => (isBeforeStart(exchange) ? first : others).shift() ?? '')
  return { project, settings, outputs, log: log() }
}

/** Starts a server in this process: two processes for each page would be most of what this file costs. */
async function startHere(settings: Record<string, string>): Promise<{ url: string; log(): string }> {
  const lines: string[] = []
  const note = (message: string, fields?: LogFields) => void lines.push(`error or warning: ${message} ${JSON.stringify(fields)}`)
  const { RATE_LIMITS, RATE_LIMITS_ANONYMOUS, RATE_LIMIT_CLIENTS } = declaredSettings
  const server = await openServer({
    databaseUrl: settings.DATABASE_URL as string,
    log: quietLog({ warn: note, error: note }),
    environment: {
      ...settings,
      // Pages show the limits of a server as it is without settings.
      RATE_LIMITS: RATE_LIMITS.default,
      RATE_LIMITS_ANONYMOUS: RATE_LIMITS_ANONYMOUS.default,
      RATE_LIMIT_CLIENTS: RATE_LIMIT_CLIENTS.default,
    },
  })
  servers.push(server)
  return { url: server.url, log: () => lines.join('\n') }
}

beforeAll(async () => {
  await Promise.all(livePages.map(async (page) => sites.set(page.path, await serve(page))))
  if (!process.env.WRITE_ANSWERS) return
  for (const { path, text } of livePages)
    writeFileSync(join(ROOT, path), withMigration(withAnswers(text, siteOf(path).outputs), siteOf(path).project))
})
afterAll(endPrograms, 20_000)
afterAll(() => Promise.all(servers.map((server) => server.stop())))
afterAll(() => issuer.stop())

for (const { path, exchanges } of livePages)
  describe(`the requests of ${path}`, () => {
    const named = exchanges.map((exchange, at) => [exchange.line, exchange, at] as const)

    test.each(named)('the request in line %d gets the answer that the page shows below it', (_, exchange, at) => {
      const output = siteOf(path).outputs[at] ?? ''
      expect(canonical(exchange, output)).toBe(canonical(exchange, exchange.answer))
    })

    test('make the server log no warning and no error', () => {
      const lines = siteOf(path).log.split('\n')
      expect(lines.filter((line) => /warn|error/i.test(line) && !LATE.test(line))).toEqual([])
    })
  })

describe('docs/entities.md', () => {
  const path = 'docs/entities.md'

  test('has every kind of field in its table, and in its example', () => {
    const kinds = [...readPage('src/model/fields.ts').matchAll(/^export const (\w+) = /gm)].map(([, name]) => name)
    const page = readPage(path)
    expect([...page.matchAll(/^\| `(\w+)\(/gm)].map(([, name]) => name)).toEqual(kinds)
    const [example] = newFilesOf(page)
    for (const kind of kinds) expect(example?.text).toContain(`: ${kind}(`)
  })

  test('shows the migration that the command on the page writes', () => {
    const migration = migrationOf(readPage(path), siteOf(path).project)
    expect(migration?.shown.text).toBe(migration?.written as string)
  })
})

describe('docs/api.md agrees with the code', () => {
  const api = readPage('docs/api.md')
  /** What stands in backquotes at the beginning of the rows below a heading. */
  const namesUnder = (heading: string) => {
    const section = api.split(/^#+ /m).find((text) => text.startsWith(`${heading}\n`)) ?? ''
    return [...section.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name as string)
  }

  test('the table of filters has every operator, in order', () => {
    expect(namesUnder('Filters')).toEqual(operators.map(({ sign }) => sign))
  })

  test.each(entities.map((entity) => [entity.plural, entity] as const))(
    'the table of %s has every property, in order',
    (plural, { members }) => {
      const names = members.map((member) => (isGroup(member) ? member.key : (member.path[0] as string)))
      expect(namesUnder(plural)).toEqual(names)
    },
  )
})

test('requests of README.md are sent, and only docs/recipes/python.md needs Python packages to be installed', () => {
  expect(livePages.map(({ path }) => path)).toContain(README)
  const paths = pages.filter(needsPython).map(({ path }) => path)
  expect(paths.toSorted()).toEqual(['docs/recipes/python.md'])
  if (pythonBin === null) leaveOut('CI_REQUIRES_PYTHON', pythonLack)
})

test('examples read the address from ROSTER_URL, and the key from ROSTER_KEY', () => {
  const commands = pages.flatMap(({ path, exchanges }) =>
    exchanges.map(({ line, command }) => ({ place: `${path}:${line}`, command })),
  )
  const others = /http:\/\/127\.0\.0\.1:3000\/|\$KEY\b|environ\['KEY'\]|& Key\b/
  expect(commands.filter(({ command }) => others.test(command)).map(({ place }) => place)).toEqual([])
  expect(commands.filter(({ command }) => command.includes('ROSTER_KEY')).length).toBeGreaterThan(20)
})

describe('the files of the project that pages show', () => {
  const shown = pages.flatMap(({ path, text }) => shownFilesOf(text).map((file) => ({ page: path, ...file })))
  const existing = shown.filter(({ path }) => existsSync(join(ROOT, path)) && !isOfExample(path))

  test('include src/entities/absence.ts', () => expect(existing.map(({ path }) => path)).toContain('src/entities/absence.ts'))

  test.each(existing.map((file) => [file.page, file.path, file.text] as const))(
    'are shown unchanged: %s shows %s',
    (_, file, text) => {
      expect(text).toBe(readFileSync(join(ROOT, file), 'utf8'))
    },
  )
})
