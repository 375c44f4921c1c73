import { beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { clientFile } from '../../src/client/clientFile.ts'
import { decimal, defineEntity, group, identity, instant, linkReferences, reference, text } from '../../src/model/entity.ts'
import { parseNamedView } from '../../src/rights/namedViews.ts'
import { consumerProgram, hasConsumers, WITHOUT_CONSUMERS } from '../consumers/consumers.ts'
import { readPage } from '../support/documents.ts'
import { entities } from '../support/entities.ts'
import { createSampleDatabase } from '../support/postgres.ts'
import { leaveOut, run, temporaryFolder } from '../support/process.ts'
import { KEY } from '../support/server.ts'
import { startServer, useServer } from '../support/start.ts'
import { lease } from './lease.ts'

const ROOT = join(import.meta.dir, '../..')
const PAGE = 'docs/client.md'
const folder = temporaryFolder()
const typescript = new Bun.Transpiler({ loader: 'ts', target: 'node' })

/** Programs in the page by name, each with its output. */
const examples = [...readPage(PAGE).matchAll(/^```ts\n\/\/ (\w+)\.ts\n([\s\S]*?)^```\n[\s\S]*?^```text\n([\s\S]*?)^```$/gm)].map(
  ([, name = '', source = '', output = '']) => ({ name, source, output }),
)

/** Options of strict programs. */
const STRICT = [
  ...[
    'strict',
    'exactOptionalPropertyTypes',
    'noUncheckedIndexedAccess',
    'noPropertyAccessFromIndexSignature',
    'noImplicitOverride',
  ],
  ...['noImplicitReturns', 'noUnusedLocals', 'noUnusedParameters', 'isolatedDeclarations', 'declaration', 'erasableSyntaxOnly'],
  ...['verbatimModuleSyntax', 'allowImportingTsExtensions', 'skipLibCheck', 'noEmit'],
]
const COMPILER_OPTIONS = {
  ...{ target: 'ES2022', lib: ['ES2022', 'DOM'], module: 'Preserve', types: [] as string[] },
  ...Object.fromEntries(STRICT.map((option) => [option, true])),
}

/** Writes a program of these files, with a very strict `tsconfig.json`. */
function writeProgram(name: string, files: Readonly<Record<string, string>>, options: object = {}): string {
  const path = join(folder.path, name)
  mkdirSync(path)
  for (const [file, content] of Object.entries(files)) writeFileSync(join(path, file), content)
  const compilerOptions = { ...COMPILER_OPTIONS, ...options }
  writeFileSync(join(path, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  return path
}

async function printed(command: string[], environment: Record<string, string> = {}): Promise<string> {
  const program = run(command, environment)
  const code = await program.ended
  return `${code === 0 ? '' : `exit code ${code}\n`}${program.output()}`
}

const use = await Bun.file(join(import.meta.dir, 'programs/use.ts')).text()
const useViews = await Bun.file(join(import.meta.dir, 'programs/useViews.ts')).text()
const compilers: [string, string[]][] = [['TypeScript of the project', [join(ROOT, 'node_modules/.bin/tsc')]]]
if (hasConsumers()) compilers.push(['TypeScript 5.9', ['node', consumerProgram('tsc')]])
else
  test('the generated client is not compiled by TypeScript 5.9, which is not installed', () =>
    leaveOut('CI_REQUIRES_CONSUMERS', WITHOUT_CONSUMERS))

describe('the generated file', () => {
  const program = writeProgram('use', { 'roster.ts': clientFile(entities), 'use.ts': use })

  test.each(compilers)(
    'the generated client compiles for valid uses and not for invalid ones, with the strictest options of %s',
    async (_, tsc) => {
      expect(await printed([...tsc, '-p', program])).toBe('')
    },
  )

  const directory = parseNamedView('Directory', 'Employees?fields=DisplayName,Department,ManagerId,Manager', entities)

  test.each(compilers)('D105: the generated client has views as read-only collections, compiled with %s', async (name, tsc) => {
    const files = { 'roster.ts': clientFile(entities, [directory]), 'useViews.ts': useViews }
    expect(await printed([...tsc, '-p', writeProgram(`views ${name}`, files)])).toBe('')
  })

  test('D105: the generated client reads a view', async () => {
    const server = await startServer({ roles: directory.text })
    await server.post('/Employees', { FirstName: 'Ada', Department: 'IT', WorkEmail: 'ada@example.com' })
    const file = join(writeProgram('read a view', {}), 'roster.mjs')
    writeFileSync(file, typescript.transformSync(clientFile(entities, [directory])))
    const { createRoster } = await import(file)
    const roster = createRoster({ url: server.url, key: KEY })
    const row = { id: 1, displayName: 'Ada', department: 'IT', managerId: null, manager: null }
    expect(await roster.directory.list()).toMatchObject({ rows: [row], total: 1 })
    expect(await roster.directory.get(1)).toEqual(row)
    expect(await Array.fromAsync(roster.directory.stream())).toEqual([row])
    expect(Object.keys(roster.directory).sort()).toEqual(['all', 'follow', 'get', 'list', 'stream', 'summary'])
  })

  test('the generated client compiles if names of entities are also names that it uses itself', async () => {
    const named = ['Roster', 'RosterPage', 'Error', 'Promise', 'Date', 'Answer', 'Response', 'Event'].map((name) =>
      defineEntity(name, {
        id: identity(),
        oddKey: text({ examples: ['*/ export const hacked = 1 /*'] }),
        held: instant(),
        size: group({ total: decimal(2) }),
      }),
    )
    const source = clientFile(named)
    expect(source).toContain(
      'readonly events: RosterCollection<Event, EventWrite, EventFilter, EventSort, EventField, EventKinds, EventPaths>',
    )
    expect(source).toContain(
      'readonly dates: RosterCollection<DateRow, DateRowWrite, DateRowFilter, DateRowSort, DateRowField, DateRowKinds, DateRowPaths>',
    )
    const path = writeProgram('names', { 'roster.ts': source })
    expect(await printed([join(ROOT, 'node_modules/.bin/tsc'), '-p', path])).toBe('')
  })

  test('the generated client has the values of a oneOf, and no null for a required value', () => {
    const source = clientFile([lease])
    expect(source).toContain("  state: 'Asked' | 'Given up' | null")
    expect(source).toContain("  use?: 'Office' | 'Storage'\n")
    expect(source).toContain("  use?: RosterOrdered<'Office' | 'Storage'>")
    expect(source).toContain('  from: string\n')
    expect(source).toContain('  floor: number\n')
    expect(source).toContain('  deposit: number | null\n')
    expect(source).toContain('  token: string | null\n')
    expect(source).toContain('  token?: RosterEqual<string | null>\n')
    expect(source).toContain('  device?: RosterEqual<string>\n')
    for (const member of ['settings: unknown', 'terms: unknown', 'terms?: unknown', 'settings?: RosterPresence'])
      expect(source).toContain(`  ${member}\n`)
    expect(source.split("  | 'settings'\n")).toHaveLength(2)
  })

  test('D94: the generated client has no types for paths through two references if an entity would have more than 5,000 paths', () => {
    const fields = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`text${index}`, text()]))
    const references = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`link${index}`, reference('Node')]))
    const reachWith = (links: number) => {
      const node = defineEntity('Node', { id: identity(), ...fields(50), ...references(links) })
      linkReferences([node])
      return /readonly reach: (\d)/.exec(clientFile([node]))?.[1]
    }
    expect([reachWith(8), reachWith(9)]).toEqual(['2', '1'])
  })

  test('the generated client documents each property', () => {
    const source = clientFile(entities)
    expect(source).toContain(
      '/** Read-only: of the Employee that `employeeId` names, its `displayName`. */\n  employee: string | null',
    )
    expect(source).toContain('/** A text of at most 100 characters, such as Requested, Approved, Declined, Cancelled. */')
    expect(source).toContain('/** Read-only: the server makes it of `firstName`, `lastName`, `knownAs`. */')
    expect(source).not.toMatch(/^import|require\(/m)
  })
})

describe('the examples of the documentation', () => {
  const server = useServer(async () => ({ databaseUrl: await createSampleDatabase() }))
  const programs = Object.fromEntries(examples.map(({ name, source }) => [`${name}.ts`, source]))
  const files = { 'roster.ts': clientFile(entities), ...programs }
  const types = [join(ROOT, 'node_modules/bun-types')]
  const path = writeProgram('example', files, { types, lib: ['ESNext'], isolatedDeclarations: false, declaration: false })
  beforeAll(() => {
    for (const [name, source] of Object.entries(files))
      writeFileSync(
        join(path, name.replace('.ts', '.mjs')),
        typescript.transformSync(source).replace('./roster.ts', './roster.mjs'),
      )
  })

  test('examples of the docs have at most 30 lines, and compile', async () => {
    expect(examples.map(({ name }) => name)).toEqual(['example', 'departments', 'summary'])
    for (const { source } of examples) expect(source.trim().split('\n').length).toBeWithin(15, 31)
    expect(await printed([join(ROOT, 'node_modules/.bin/tsc'), '-p', path])).toBe('')
  })

  test.each(
    examples.flatMap(({ name, output }) => [
      { name, runtime: 'Bun', command: [process.execPath, 'run', join(path, `${name}.ts`)], output },
      { name, runtime: 'Node', command: ['node', join(path, `${name}.mjs`)], output },
    ]),
  )('the example $name prints on $runtime what the page shows', async ({ command, output }) => {
    expect(await printed(command, { ROSTER_URL: server.url, ROSTER_KEY: KEY })).toBe(output)
  })
})
