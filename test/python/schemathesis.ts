// Asks a server with the sample what its OpenAPI document says can be asked, and a lot that it says cannot be, with every check of
// Schemathesis: `node src/launch.mjs test/python/schemathesis.ts`, with options of `schemathesis run` behind. It does so with a key of
// all rights, and with one of few, each by its own document. The exit code is 0 if nothing differs.
import { join } from 'node:path'
import { run, temporaryFolder } from '../support/process.ts'
import { MAIN, ServerProcesses } from '../support/serverProcesses.ts'
import { pythonPrograms } from './environment.ts'

const KEY = 'the-key-of-schemathesis'
const LIMITS = '100000/1s'
/** Rights of every verb, to some rows and properties. */
const FEW_RIGHTS = [
  'read Absences?Status=Approved&fields=EmployeeId,Employee,Start,End,Period.Days',
  'update Absences?Status=Approved&fields=Type,Reason,EmployeeId becomes Type[]=Holiday&Type[]=Sickness',
  'delete Absences?Status=Approved',
  'read Employees?CompanyId=1&fields=FirstName,LastName,DisplayName,CompanyId',
  'create Employees?Status=New&fields=FirstName,LastName,CompanyId,ManagerId',
  'read Companies?fields=Name',
  'update Companies?fields=Name',
]
/** `Allow` names the methods of a path, whatever a key may do. */
const OF_FEW_RIGHTS = ['--exclude-checks', 'allow_header_conformance']

const { bin, lack } = await pythonPrograms()
if (bin === null) {
  console.error(`Schemathesis cannot run: ${lack}`)
  process.exit(1)
}
const folder = temporaryFolder()
const processes = new ServerProcesses()
const { url, dataDir } = await processes.start({
  ...{ BOOTSTRAP_API_KEY: KEY, WORKERS: '1' },
  ...{ RATE_LIMITS: LIMITS, RATE_LIMITS_ANONYMOUS: LIMITS },
})

/** Runs Schemathesis with a key; resolves with its exit code. */
function check(key: string, options: readonly string[]): Promise<number> {
  // One thread: the parser of Python 3.11 fails where two import or parse at once (python/cpython#106905).
  const words = [`${url}/openapi.json`, '--header', `Authorization: ApiKey ${key}`, '--workers', '1', '--continue-on-failure']
  const configuration = ['--config-file', join(import.meta.dir, 'schemathesis.toml')]
  const command = [join(bin as string, 'schemathesis'), ...configuration, 'run', ...words, ...options, ...process.argv.slice(2)]
  return Bun.spawn(command, {
    cwd: folder.path,
    env: { ...process.env, SCHEMATHESIS_HOOKS: 'hooks', PYTHONPATH: import.meta.dir, PYTHONDONTWRITEBYTECODE: '1' },
    stdio: ['ignore', 'inherit', 'inherit'],
  }).exited
}

const made = run([...MAIN, 'keys', 'create', '--name', 'few', ...FEW_RIGHTS.flatMap((right) => ['--right', right])], {
  DATA_DIR: dataDir,
})
await made.ended
const [few] = /roster_\w{54}/.exec(made.output()) ?? []
if (few === undefined) throw new Error(`the key of few rights was not made: ${made.output()}`)
const exitCode = (await check(KEY, [])) || (await check(few, OF_FEW_RIGHTS))
await processes.end()
folder.remove()
process.exit(exitCode)
