import { beforeAll, describe, expect, test } from 'bun:test'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeApi } from '../../src/describe/openApi.ts'
import { parseRules } from '../../src/model/limits.ts'
import { entities } from '../support/entities.ts'
import { createSampleDatabase } from '../support/postgres.ts'
import { leaveOut, temporaryFolder } from '../support/process.ts'
import { wholeAccess } from '../support/rights.ts'
import { KEY, type TestServer } from '../support/server.ts'
import { useServer } from '../support/start.ts'
import { findGo, GO_MODULE } from './go.ts'

/** Commands that make a client from the document. */
const GENERATORS: readonly (readonly [string, readonly string[]])[] = [
  ['oapi-codegen', ['-package', 'oapi_codegen', '-generate', 'types,client', '-o', 'oapi_codegen/client.gen.go']],
  ['ogen', ['--config', 'ogen.yml', '--package', 'ogen', '--target', 'ogen']],
]
/** Compiling a client takes half a minute of a processor, and the first time the generators are compiled, too. */
const COMPILED_MS_MAX = 600_000
/** Without optimizations, compiling takes two thirds of the time. */
const QUICK = '-gcflags=consumers/...=-N -l'

/** What Go says about a module that this machine does not have yet. */
const DOWNLOAD = /^go: downloading .*\n/gm

const folder = temporaryFolder()
const { go, lack } = findGo()

let server: TestServer

async function runGo(...words: string[]) {
  const env = { ...process.env, ROSTER_URL: server.url, ROSTER_KEY: KEY }
  const child = Bun.spawn([go as string, ...words], { cwd: folder.path, env, stdout: 'pipe', stderr: 'pipe' })
  const [output, complaints] = await Promise.all([child.stdout, child.stderr].map((stream) => new Response(stream).text()))
  return { exitCode: await child.exited, output: output as string, complaints: complaints as string }
}

if (go === null) test('generated clients in Go are not tested, because Go is missing', () => leaveOut('CI_REQUIRES_GO', lack))
else
  describe('generated clients in Go', () => {
    server = useServer(async () => ({ databaseUrl: await createSampleDatabase() }))
    beforeAll(async () => {
      const limits = parseRules('750/1m')
      const facts = { baseUrl: 'https://api.example.org', limits, anonymousLimits: limits, documentNeedsKey: false }
      cpSync(GO_MODULE, folder.path, { recursive: true })
      writeFileSync(join(folder.path, 'openapi.json'), JSON.stringify(describeApi(entities.map(wholeAccess), facts)))
    })

    test.each(GENERATORS)(
      'a Go client of %s compiles, and reads lists, selected fields, created rows, and changes with their rows',
      async (name, options) => {
        const packageName = name.replace('-', '_')
        mkdirSync(join(folder.path, packageName))
        const made = await runGo('tool', name, ...options, 'openapi.json')
        expect([made.exitCode, made.exitCode === 0 ? '' : made.complaints]).toEqual([0, ''])
        const used = await runGo('run', QUICK, `./use_${packageName}`)
        expect([used.complaints.replace(DOWNLOAD, ''), used.output.split('\n')]).toEqual([
          '',
          [
            '4,5,6,7 1 Approved Engineering true Generated',
            'Companies Generated, Absences Holiday',
            'Companies null, Absences null',
            '',
          ],
        ])
      },
      COMPILED_MS_MAX,
    )
  })
