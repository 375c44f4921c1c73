import { beforeAll, describe, expect, test } from 'bun:test'
import { cpSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeApi } from '../../src/describe/openApi.ts'
import { parseRules } from '../../src/model/limits.ts'
import { RightsReader } from '../../src/rights/reader.ts'
import { pythonPrograms } from '../python/environment.ts'
import { entities } from '../support/entities.ts'
import { createSampleDatabase } from '../support/postgres.ts'
import { leaveOut, temporaryFolder } from '../support/process.ts'
import { wholeAccess } from '../support/rights.ts'
import { KEY, type TestServer } from '../support/server.ts'
import { useServer } from '../support/start.ts'
import { CONSUMERS, consumerProgram, hasConsumers, WITHOUT_CONSUMERS } from './consumers.ts'

const folder = temporaryFolder()
const file = (name: string) => join(folder.path, name)

/** Environment without telemetry and checks for newer versions. A Java that runs for seconds compiles less of itself. */
const QUIET = {
  ...{ REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', CI: 'true' },
  JAVA_TOOL_OPTIONS: '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC',
}
/** The project's own compiler, several times as fast as that of the consumers. */
const TSC = join(import.meta.dir, '../../node_modules/.bin/tsc')

let server: TestServer

async function run(program: string, ...words: string[]) {
  const env = { PATH: process.env.PATH, HOME: folder.path, ...QUIET, ROSTER_URL: server.url, ROSTER_KEY: KEY }
  const child = Bun.spawn([program, ...words], { cwd: folder.path, env, stdout: 'pipe', stderr: 'pipe' })
  const [output, complaints] = await Promise.all([child.stdout, child.stderr].map((stream) => new Response(stream).text()))
  return { exitCode: await child.exited, output: output as string, complaints: complaints as string }
}

const compilerOptions = {
  ...{ target: 'ES2022', lib: ['ES2022', 'DOM'], module: 'Preserve', types: [], noEmit: true, skipLibCheck: true },
  ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, allowImportingTsExtensions: true },
}

const { bin: pythonBin, lack: pythonLack } = await pythonPrograms()
const python = (name: string) => join(pythonBin as string, name)
/** Commands that make a client from the document, and the program that uses it. */
const GENERATORS: Record<string, { make(): string[]; use: string }> = {
  'openapi-generator for fetch': {
    make: () => [
      ...[python('openapi-generator-cli'), 'generate', '-g', 'typescript-fetch', '-i', 'openapi.json'],
      ...['-o', 'typescript-fetch', '--skip-validate-spec'],
    ],
    use: 'typescriptFetch.ts',
  },
  'openapi-generator for Python': {
    make: () => [
      ...[python('openapi-generator-cli'), 'generate', '-g', 'python', '-i', 'openapi.json'],
      ...['-o', 'openapi_generator_python', '--skip-validate-spec', '--package-name', 'generated'],
    ],
    use: 'openapi_generator.py',
  },
  'openapi-python-client': {
    make: () => [
      ...[python('openapi-python-client'), 'generate', '--path', 'openapi.json', '--meta', 'none'],
      ...['--output-path', 'python_client'],
    ],
    use: 'openapi_python_client.py',
  },
  'hey-api': {
    make: () => [
      ...[process.execPath, consumerProgram('openapi-ts'), '-i', 'openapi.json', '-o', 'hey-api'],
      ...['-c', '@hey-api/client-fetch'],
    ],
    use: 'heyApi.ts',
  },
}
const USES = Object.values(GENERATORS).map(({ use }) => use)

/** Rights of every verb, to some rows and properties. */
const FEW_RIGHTS = `read Absences?Status=Approved&fields=EmployeeId,Start,End,Period.Days
update Absences?Status=Requested&fields=Status becomes Status=Approved
create Employees?Status=New&fields=FirstName,LastName
delete Companies`

/** The rules that Redocly recommends, with warnings as errors; none is left out. */
const REDOCLY = 'extends:\n  - recommended-strict\n'

if (hasConsumers())
  describe('programs that read the OpenAPI document', () => {
    server = useServer(async () => ({ databaseUrl: await createSampleDatabase() }))
    beforeAll(async () => {
      const limits = parseRules('750/1m')
      const facts = { baseUrl: 'https://api.example.org', limits, anonymousLimits: limits, documentNeedsKey: false }
      writeFileSync(file('openapi.json'), JSON.stringify(describeApi(entities.map(wholeAccess), facts)))
      const rights = new RightsReader(entities).read({ rights: '', addresses: FEW_RIGHTS })
      const accesses = entities.map((entity) => rights.accessTo(entity))
      writeFileSync(file('key.json'), JSON.stringify(describeApi(accesses, facts)))
      writeFileSync(file('redocly.yaml'), REDOCLY)
      writeFileSync(file('package.json'), '{"type":"module"}')
      writeFileSync(file('tsconfig.json'), JSON.stringify({ compilerOptions, files: ['use.ts'] }))
      cpSync(join(import.meta.dir, 'programs'), folder.path, { recursive: true })
      symlinkSync(join(CONSUMERS, 'node_modules'), file('node_modules'))
    })

    test.each([
      ['the OpenAPI document', 'openapi.json'],
      ['the document of a key of few rights', 'key.json'],
    ])('Redocly finds no error and no warning in %s', async (_, name) => {
      const { exitCode, output } = await run('node', consumerProgram('redocly'), 'lint', name, '--format=json')
      const { totals, problems } = JSON.parse(output.slice(output.indexOf('{')))
      expect([problems, totals, exitCode]).toEqual([[], { errors: 0, warnings: 0, ignored: 0 }, 0])
    })

    test('types of openapi-typescript accept valid uses and refuse invalid uses, and the program that uses them runs', async () => {
      const made = await run(process.execPath, consumerProgram('openapi-typescript'), 'openapi.json', '-o', 'api.ts')
      expect([made.exitCode, made.exitCode === 0 ? '' : made.complaints]).toEqual([0, ''])
      const compiled = await run(TSC, '-p', '.')
      expect([compiled.output, compiled.exitCode]).toEqual(['', 0])
      const { output, complaints } = await run(process.execPath, 'use.ts')
      expect([complaints, output.split('\n')]).toEqual([
        '',
        [
          ...['7 2026-02-28T09:00:00Z 3', '2 2026-01-14T09:00:00Z 3', '2'],
          ...['Blue Moon', '{"id":7,"name":"Blue Moon","enabled":false}', '204', 'There is no Company with id 7.', ''],
        ],
      ])
    })

    if (pythonBin !== null)
      describe('generated clients', () => {
        test.each(Object.entries(GENERATORS))('a client is generated by %s', async (_, { make }) => {
          const [program, ...words] = make() as [string, ...string[]]
          const made = await run(program, ...words)
          expect([made.exitCode, made.exitCode === 0 ? '' : made.complaints]).toEqual([0, ''])
        })

        // A change has the row of its own entity, or null if the row is gone.
        test.each(USES)(
          'the generated client that %s uses sends filters and fields, and reads a created id and changes with their rows',
          async (use) => {
            const used = await run(use.endsWith('.py') ? python('python') : process.execPath, use)
            expect([used.complaints, used.output.split('\n')]).toEqual([
              '',
              [
                '4,5,6,7 1 Approved Engineering true Generated',
                'Companies Generated, Absences Holiday',
                'Companies null, Absences null',
                '',
              ],
            ])
          },
        )

        test('generated clients in TypeScript compile', async () => {
          const files = USES.filter((use) => use.endsWith('.ts'))
          // Generated code does not compile with the stricter options.
          const { exactOptionalPropertyTypes: _, noUncheckedIndexedAccess: __, ...options } = compilerOptions
          const own = { ...options, lib: [...options.lib, 'DOM.Iterable'] }
          writeFileSync(file('generated.json'), JSON.stringify({ compilerOptions: own, files }))
          const { output, exitCode } = await run(TSC, '-p', 'generated.json')
          expect([output, exitCode]).toEqual(['', 0])
        })
      })
    else
      test('generated clients are not tested, because Python or Java is missing', () =>
        leaveOut('CI_REQUIRES_PYTHON', pythonLack))
  })
else
  test('programs that read the OpenAPI document are not tested, because they are not installed', () =>
    leaveOut('CI_REQUIRES_CONSUMERS', WITHOUT_CONSUMERS))
