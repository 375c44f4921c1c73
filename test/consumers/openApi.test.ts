import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { copyFileSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeApi } from '../../src/describe/openApi.ts'
import { parseRules } from '../../src/model/limits.ts'
import { loadEntities } from '../../src/registry.ts'
import { createSampleDatabase } from '../support/postgres.ts'
import { temporaryFolder } from '../support/process.ts'
import { KEY, startServer, type TestServer } from '../support/server.ts'
import { CONSUMERS, consumerProgram, hasConsumers, WITHOUT_CONSUMERS } from './consumers.ts'

const folder = temporaryFolder()
const file = (name: string) => join(folder.path, name)

/** Says nothing to its makers, and asks for no newer version. */
const QUIET = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', CI: 'true' }

async function run(program: string, ...words: string[]) {
  const environment = { PATH: process.env.PATH, HOME: folder.path, ...QUIET, ROSTER_URL: server.url, ROSTER_KEY: KEY }
  const child = Bun.spawn([program, ...words], { cwd: folder.path, env: environment, stdout: 'pipe', stderr: 'pipe' })
  const [output, complaints] = await Promise.all(
    [child.stdout, child.stderr].map((stream) => new Response(stream).text()),
  )
  return { exitCode: await child.exited, output: output as string, complaints: complaints as string }
}

let server: TestServer

const compilerOptions = {
  ...{ target: 'ES2022', lib: ['ES2022', 'DOM'], module: 'Preserve', types: [], noEmit: true, skipLibCheck: true },
  ...{
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    allowImportingTsExtensions: true,
  },
}

/** The rules that Redocly recommends, with its warnings as errors; none is left out. */
const REDOCLY = 'extends:\n  - recommended-strict\n'

if (hasConsumers())
  describe('programs that read the OpenAPI document', () => {
    beforeAll(async () => {
      const databaseUrl = await createSampleDatabase()
      server = await startServer({ databaseUrl })
      const limits = parseRules('750/1m')
      const facts = { baseUrl: 'https://api.example.org', limits, anonymousLimits: limits }
      writeFileSync(file('openapi.json'), JSON.stringify(describeApi(await loadEntities(), facts)))
      writeFileSync(file('redocly.yaml'), REDOCLY)
      writeFileSync(file('package.json'), '{"type":"module"}')
      writeFileSync(file('tsconfig.json'), JSON.stringify({ compilerOptions, files: ['use.ts'] }))
      copyFileSync(join(import.meta.dir, 'programs/use.ts'), file('use.ts'))
      symlinkSync(join(CONSUMERS, 'node_modules'), file('node_modules'))
    })
    afterAll(async () => {
      await server.stop()
      folder.remove()
    })

    test('Redocly finds no error and no warning', async () => {
      const { exitCode, output } = await run(
        'node',
        consumerProgram('redocly'),
        'lint',
        'openapi.json',
        '--format=json',
      )
      const { totals, problems } = JSON.parse(output.slice(output.indexOf('{')))
      expect([problems, totals, exitCode]).toEqual([[], { errors: 0, warnings: 0, ignored: 0 }, 0])
    })

    test('Redocly finds an error where there is one', async () => {
      const broken = readFileSync(file('openapi.json'), 'utf8').replace(
        '"operationId":"getAbsence"',
        '"operationId":"listAbsences"',
      )
      writeFileSync(file('broken.json'), broken)
      const { exitCode, output } = await run('node', consumerProgram('redocly'), 'lint', 'broken.json', '--format=json')
      expect(exitCode).not.toBe(0)
      expect(output).toContain('operation-operationId-unique')
    })

    test('openapi-typescript makes types of it, with which a right use compiles, wrong ones do not, and which runs', async () => {
      const made = await run('node', consumerProgram('openapi-typescript'), 'openapi.json', '-o', 'api.ts')
      expect([made.exitCode, made.exitCode === 0 ? '' : made.complaints]).toEqual([0, ''])
      const compiled = await run('node', consumerProgram('tsc'), '-p', '.')
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
  })
else
  test('programs that read the OpenAPI document', () => {
    console.warn(WITHOUT_CONSUMERS)
    expect(process.env.CI_REQUIRES_CONSUMERS).toBeUndefined()
  })
