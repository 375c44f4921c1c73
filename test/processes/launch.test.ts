import { afterAll, afterEach, describe, expect, test } from 'bun:test'
import { endPrograms, isAlive, postmasterOf, type RunningProgram, run, temporaryFolder, until } from '../support/process.ts'

const LISTENS = /listens on (http:\S+?),/
const TIMEOUT_MS = 60_000

// One for all tests: a cluster is made once, and each start meets what the one before left.
const folder = temporaryFolder()
afterEach(endPrograms)
afterAll(folder.remove)

/** The process that listens, by the line that the launcher's child prints. */
async function started(command: string[]): Promise<{ program: RunningProgram; postmaster: number; url: string }> {
  const program = run(command, { DATA_DIR: folder.path, PORT: '0' })
  const [, url] = await program.waitFor(LISTENS)
  return { program, postmaster: postmasterOf(folder.path) as number, url: url as string }
}

const isServing = (url: string) =>
  fetch(`${url}/livez`).then(
    () => true,
    () => false,
  )

async function untilGone(url: string, postmaster: number) {
  await until(() => !isAlive(postmaster))
  while (await isServing(url)) await Bun.sleep(20)
}

describe('the launcher', () => {
  test(
    'passes SIGTERM on and ends as the server does',
    async () => {
      const { program, postmaster, url } = await started(['node', 'src/launch.mjs', 'src/main.ts'])
      program.kill('SIGTERM')
      expect(await program.ended).toBe(0)
      expect(isAlive(postmaster)).toBe(false)
      expect(await isServing(url)).toBe(false)
    },
    TIMEOUT_MS,
  )

  test(
    'killed, takes the server and PostgreSQL along',
    async () => {
      const { program, postmaster, url } = await started(['node', 'src/launch.mjs', 'src/main.ts'])
      program.kill('SIGKILL')
      await untilGone(url, postmaster)
      expect(await isServing(url)).toBe(false)
    },
    TIMEOUT_MS,
  )

  test(
    'gives back the exit code of what it runs',
    async () => {
      const program = run(['node', 'src/launch.mjs', 'src/main.ts'], { PORT: 'none' })
      expect(await program.ended).toBe(1)
      expect(program.output()).toStartWith('roster: PORT must be')
    },
    TIMEOUT_MS,
  )
})

describe('npm start', () => {
  test(
    'Ctrl-C, which the whole group gets, leaves no process',
    async () => {
      const { program, postmaster, url } = await started(['npm', 'start'])
      program.killGroup('SIGINT')
      await program.ended
      expect(isAlive(postmaster)).toBe(false)
      expect(await isServing(url)).toBe(false)
    },
    TIMEOUT_MS,
  )

  for (const signal of ['SIGTERM', 'SIGINT', 'SIGKILL'] as const)
    test(
      `${signal} to npm leaves no process`,
      async () => {
        const { program, postmaster, url } = await started(['npm', 'start'])
        program.kill(signal)
        await untilGone(url, postmaster)
        expect(isAlive(postmaster)).toBe(false)
      },
      TIMEOUT_MS,
    )
})
