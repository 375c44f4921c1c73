// The two programs of the example, the provider and the server: their start and their end.
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { settings } from '../../src/config/settings.ts'
import type { Folder } from './folder.ts'
import { ExampleError, HOST, type Options } from './options.ts'
import { nameOf, PEOPLE, type Person } from './people.ts'

const ROOT = join(import.meta.dir, '../..')
/** Name of the server at the provider, in `aud` of its tokens. */
const AUDIENCE = 'https://roster.example.com'
/** Name of the page /explore at the provider. */
const CLIENT_ID = 'roster-explore'

/** A program that was started. */
export interface Program {
  readonly pid: number
  /** Resolves when it has said that it listens. */
  readonly ready: Promise<void>
  readonly ended: Promise<unknown>
  kill(signal: NodeJS.Signals): void
}

export function addressOf(port: number): string {
  return `http://${HOST}:${port}`
}

export function launchProvider(options: Options): Program {
  const environment = {
    PROVIDER: JSON.stringify({
      port: options.providerPort,
      server: addressOf(options.port),
      clientId: CLIENT_ID,
      audience: AUDIENCE,
      tokenS: options.tokenS,
      people: PEOPLE.map(accountOf),
    }),
    // Else the library warns of what is right for an example, such as data that is kept only in memory.
    NODE_ENV: 'test',
    // Warnings of functions that the library should no longer call are not for those who try the example.
    NODE_NO_WARNINGS: '1',
  }
  return launch('test/example/provider.mjs', environment, /listens on/)
}

/** What the provider knows of a person. */
function accountOf(person: Person) {
  const email = person.workEmail === null ? {} : { email: person.workEmail, email_verified: true }
  return {
    account: person.account,
    name: nameOf(person),
    job: person.jobTitle,
    level: person.jobLevel,
    may: person.may,
    claims: { name: nameOf(person), groups: person.groups, ...email },
  }
}

export function launchServer(options: Options, folder: Folder): Program {
  const environment = {
    DATA_DIR: folder.path,
    DEMO_DATA: '0',
    HOST,
    PORT: String(options.port),
    OIDC_ISSUER: addressOf(options.providerPort),
    OIDC_AUDIENCE: AUDIENCE,
    OIDC_CLIENT_ID: CLIENT_ID,
    ROLES_FILE: folder.rolesFile,
    // So that the history of a row says what was changed.
    CHANGES_VALUES: 'on',
    WORKERS: '1',
    LOG_LEVEL: 'warn',
    LOG_FORMAT: 'pretty',
    // The server ends when this process has ended.
    ROSTER_LAUNCHER: String(process.pid),
  }
  return launch('src/main.ts', environment, /listens on/)
}

/** Starts a program without the settings of the surroundings, such as another DATABASE_URL. */
function launch(file: string, environment: Record<string, string>, sign: RegExp): Program {
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !(name in settings)))
  const child = spawn(process.execPath, ['--no-env-file', file], {
    cwd: ROOT,
    env: { ...inherited, ...environment },
    // The provider ends when the pipe to its input does.
    stdio: ['pipe', 'pipe', 'pipe'],
    // In a group of its own, since a terminal sends Ctrl+C to all of a group: the server ends first, then the provider.
    detached: true,
  })
  const ended = new Promise((done) => child.once('close', (code, signal) => done(code ?? signal)))
  return {
    pid: child.pid as number,
    ended,
    ready: untilReady(child, file, ended, sign),
    kill: (signal) => child.kill(signal),
  }
}

/** Waits for the line that matches; after it, passes on what the program prints. @throws ExampleError if it ends before */
function untilReady(child: ChildProcess, file: string, ended: Promise<unknown>, sign: RegExp): Promise<void> {
  let output = ''
  let isReady = false
  return new Promise((done, fail) => {
    const read = (piece: Buffer) => {
      if (isReady) return void process.stderr.write(piece)
      output += piece
      if (!sign.test(output)) return
      isReady = true
      done()
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    ended.then((code) => fail(new ExampleError(`${file} ended with ${code}:\n${output.trim()}`)))
  })
}
