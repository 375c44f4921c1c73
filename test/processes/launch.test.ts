import { afterEach, beforeAll, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { copyCluster } from '../support/cluster.ts'
import { endPrograms, isAlive, postmasterOf, type RunningProgram, run, temporaryFolder, until } from '../support/process.ts'
import { LISTENS } from '../support/serverProcesses.ts'

// All tests share the folder: each start meets the state that the one before has left.
const folder = temporaryFolder()
beforeAll(() => copyCluster(folder.path))
afterEach(endPrograms)

const isServing = (url: string) =>
  fetch(`${url}/livez`).then(
    () => true,
    () => false,
  )

const LAUNCHER = ['node', 'src/launch.mjs', 'src/main.ts']
const NPM = ['npm', 'start']
const FIRST = ['unshare', '-Urpf', '--kill-child']
const canBeFirst = Bun.which('unshare') !== null && Bun.spawnSync([...FIRST, 'true']).success
const ends: [what: string, command: string[], end: (program: RunningProgram) => void, code: number | null][] = [
  ['the launcher sends SIGTERM to the server, and ends with its exit code', LAUNCHER, (program) => program.kill('SIGTERM'), 0],
  ['npm start: Ctrl-C (SIGINT to the process group) leaves no process', NPM, (program) => program.killGroup('SIGINT'), null],
  [
    'npm start: closing the terminal (SIGHUP to the process group) leaves no process',
    NPM,
    (program) => program.killGroup('SIGHUP'),
    null,
  ],
  ['npm start: SIGTERM to npm leaves no process', NPM, (program) => program.kill('SIGTERM'), null],
  ['npm start: SIGKILL to npm leaves no process', NPM, (program) => program.kill('SIGKILL'), null],
]

test.each(ends)('%s', async (_, command, end, code) => {
  const program = run(command, { DATA_DIR: folder.path, PORT: '0', WORKERS: '1' })
  const [, url = ''] = await program.waitFor(LISTENS)
  const postmaster = postmasterOf(folder.path) as number
  end(program)
  const ended = await program.ended
  if (code !== null) expect([ended, isAlive(postmaster)]).toEqual([code, false])
  await until(async () => !isAlive(postmaster) && !(await isServing(url)))
})

test('A server that a script starts in the background ends when the script is ended', async () => {
  const script = ['sh', '-c', `${LAUNCHER.join(' ')} & wait`]
  const program = run(script, { DATA_DIR: folder.path, PORT: '0', WORKERS: '1' })
  const [, url = ''] = await program.waitFor(LISTENS)
  program.kill('SIGTERM')
  await until(async () => !(await isServing(url)))
})

const hasSetsid = Bun.which('setsid') !== null && Bun.spawnSync(['setsid', '-f', 'true']).success
test('A server that a script starts by setsid -f runs on after the script has ended', async () => {
  if (!hasSetsid) return
  const launcher = `echo "launcher: $$"; exec ${LAUNCHER.join(' ')}`
  const program = run(['setsid', '-f', 'sh', '-c', launcher], { DATA_DIR: folder.path, PORT: '0', WORKERS: '1' })
  const [, pid = ''] = await program.waitFor(/launcher: (\d+)/)
  try {
    const [, url = ''] = await program.waitFor(LISTENS)
    // Longer than the launcher needs to notice that its parent has ended.
    await Bun.sleep(2_500)
    expect(await isServing(url)).toBe(true)
  } finally {
    process.kill(Number(pid), 'SIGTERM')
  }
  await until(() => !isAlive(Number(pid)))
})

test('the server and PostgreSQL end when the launcher is killed, also if its parent leaves it as a zombie', async () => {
  // If the parent does not wait for its children, as some first processes of containers, the launcher stays as a zombie.
  const waitless = ['sh', '-c', `${LAUNCHER.join(' ')} & echo "launcher: $!"; exec sleep 600`]
  const program = run(waitless, { DATA_DIR: folder.path, PORT: '0', WORKERS: '1' })
  const [, launcher] = await program.waitFor(/launcher: (\d+)/)
  const [, url = ''] = await program.waitFor(LISTENS)
  const postmaster = postmasterOf(folder.path) as number
  process.kill(Number(launcher), 'SIGKILL')
  await until(async () => !isAlive(postmaster) && !(await isServing(url)))
})

test.each([
  ['by the same signal', ['env']],
  ...(canBeFirst ? [['with exit code 137 if it is the first process of a container', FIRST] as [string, string[]]] : []),
])('a launcher whose program is killed ends %s', async (_, around) => {
  const path = join(folder.path, 'killed.ts')
  writeFileSync(path, "process.kill(process.pid, 'SIGKILL')")
  const { exitCode, signalCode } = Bun.spawnSync([...around, 'node', 'src/launch.mjs', path])
  expect([exitCode, signalCode]).toContainEqual(around === FIRST ? 137 : 'SIGKILL')
})

test('the launcher returns the exit code of its program', async () => {
  const program = run(LAUNCHER, { PORT: 'none' })
  expect(await program.ended).toBe(1)
  expect(program.output()).toStartWith('roster: PORT must be')
})
