// Asks a server with the sample what its OpenAPI document says can be asked, and a lot that it says cannot be, with every check of
// Schemathesis: `node src/launch.mjs test/python/schemathesis.ts`, with options of `schemathesis run` behind. The exit code is
// that of Schemathesis: 0 if nothing differs.
import { join } from 'node:path'
import { temporaryFolder } from '../support/process.ts'
import { ServerProcesses } from '../support/serverProcesses.ts'
import { pythonPrograms } from './environment.ts'

const KEY = 'the-key-of-schemathesis'
const LIMITS = '100000/1s'

const { bin, lack } = await pythonPrograms()
if (bin === null) {
  console.error(`Schemathesis cannot run: ${lack}`)
  process.exit(1)
}
const folder = temporaryFolder()
const processes = new ServerProcesses()
const { url } = await processes.start({
  ...{ BOOTSTRAP_API_KEY: KEY, WORKERS: '1' },
  ...{ RATE_LIMITS: LIMITS, RATE_LIMITS_ANONYMOUS: LIMITS },
})
// One thread: the parser of Python 3.11 fails where two import or parse at once (python/cpython#106905).
const words = [`${url}/openapi.json`, '--header', `Authorization: ApiKey ${KEY}`, '--workers', '1', '--continue-on-failure']
const configuration = ['--config-file', join(import.meta.dir, 'schemathesis.toml')]
const child = Bun.spawn([join(bin, 'schemathesis'), ...configuration, 'run', ...words, ...process.argv.slice(2)], {
  cwd: folder.path,
  env: { ...process.env, SCHEMATHESIS_HOOKS: 'hooks', PYTHONPATH: import.meta.dir, PYTHONDONTWRITEBYTECODE: '1' },
  stdio: ['ignore', 'inherit', 'inherit'],
})
const exitCode = await child.exited
await processes.end()
folder.remove()
process.exit(exitCode)
