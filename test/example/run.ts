// A whole example to try: `npm run example` starts an identity provider and a server, with twelve people who sign in, ask for leave
// and decide about it.
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { type Folder, openFolder } from './folder.ts'
import { ExampleError, HOST, type Options, readOptions, requireFreePorts } from './options.ts'
import { nameOf, PEOPLE } from './people.ts'
import { addressOf, launchProvider, launchServer, type Program } from './programs.ts'
import { seed } from './seed.ts'

const PARENT_MS = 1_000
const running: Program[] = []
let isStopping = false

// Both programs and this one reach each other without the proxy that the surroundings may have.
process.env.NO_PROXY = [process.env.NO_PROXY ?? process.env.no_proxy, HOST].filter(Boolean).join()
process.env.no_proxy = process.env.NO_PROXY
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop(0))
process.on('SIGUSR2', () => server()?.kill('SIGUSR2'))
// Whoever has started this process passes signals on; without it, nobody would.
const parent = process.ppid
setInterval(() => process.ppid === parent || void stop(0), PARENT_MS).unref()

try {
  await start(readOptions(process.argv.slice(2), process.env))
} catch (error) {
  // A stop interrupts the start, which is not a fault.
  if (!isStopping) {
    console.error(error instanceof ExampleError ? `example: ${error.message}` : error)
    await stop(1)
  }
}

async function start(options: Options): Promise<void> {
  await requireFreePorts(options)
  const folder = openFolder(options)
  console.log(folder.isEmpty ? 'Starting the example; the first time it makes a database ...' : 'Starting the example ...')
  // The server reads the provider's addresses at its start.
  const provider = launchProvider(options)
  running.push(provider)
  await provider.ready
  const started = launchServer(options, folder)
  running.unshift(started)
  await started.ready
  const key = readFileSync(folder.keyFile, 'utf8').trim()
  if (folder.isEmpty) await seed(addressOf(options.port), key, new Date())
  folder.complete()
  console.log(firstScreen(options, folder))

  started.ended.then(() => stop(1))
  provider.ended.then(
    () => isStopping || console.error('The sign-in has ended: to sign in again, stop the example and start it.'),
  )
}

function server(): Program | undefined {
  return running.length > 1 ? running[0] : undefined
}

/** Ends the server, then the provider, and this process. At a second signal the server does not wait for its requests. */
async function stop(code: number): Promise<void> {
  if (isStopping) return server()?.kill('SIGTERM')
  isStopping = true
  for (const program of running) {
    program.kill('SIGTERM')
    await program.ended
  }
  process.exit(code)
}

function firstScreen({ port, providerPort }: Options, folder: Folder): string {
  const employee = nameOfAccount('bo')
  const manager = nameOfAccount('olena')
  const lines: readonly (readonly [string, string])[] = [
    ['Open', `${addressOf(port)}/explore`],
    ['Try it', `Sign in as ${employee}, and ask for leave. In another window sign in as ${manager}, and approve it.`],
    ['', `${nameOfAccount('noor')} is HR, ${nameOfAccount('ingrid')} is the director: no passwords.`],
    ['Rights', `Change ${shown(folder.rolesFile)}, then: kill -USR2 ${server()?.pid}`],
    ['API', `curl -H "Authorization: ApiKey $(cat ${shown(folder.keyFile)})" ${addressOf(port)}/Absences`],
    ['Sign-in', `${addressOf(providerPort)}, a provider only for this example`],
    ['Data', `${shown(folder.path)}; to begin anew: npm run example -- --fresh`],
    ['Stop', 'Ctrl+C'],
  ]
  return `\n${lines.map(([title, text]) => `  ${title.padEnd(8)} ${text}`).join('\n')}\n`
}

function nameOfAccount(account: string): string {
  const person = PEOPLE.find((person) => person.account === account)
  if (person === undefined) throw new Error(`nobody is ${account}`)
  return nameOf(person)
}

/** A path as one would type it here. */
function shown(path: string): string {
  const here = relative(process.cwd(), path)
  return here.startsWith('..') ? path : here
}
