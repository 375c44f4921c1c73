#!/usr/bin/env node
// The launcher, in plain Node: installs dependencies, finds the pinned Bun, runs it, and passes signals on. It imports only
// Node's modules, because nothing else may be installed yet.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const marker = join(root, '.installing')
const manifest = readJson(join(root, 'package.json'))
// As a dependency of another project, this package has no lockfile; npm has installed its dependencies in a folder above.
const isPackage = !existsSync(join(root, 'package-lock.json'))
// Scripts of this project pass the path of a program. In another project, `roster` passes its arguments to src/main.ts.
const words = process.argv.slice(2)
const isScript = !isPackage && words[0]?.endsWith('.ts') === true
const [command, ...rest] = isScript ? words : ['src/main.ts', ...words]
// Tests, benches and checks need the development dependencies; a server and the command line do not.
const isDevelopment = /^(?:test|bench|src\/pages\/vendor)\//.test(command ?? '')
const needed = { ...manifest.dependencies, ...(isDevelopment ? manifest.devDependencies : {}) }

if (!(await installed())) {
  if (isPackage) fail(`${missing().join(', ')} cannot be found: run npm install`)
  await install()
}
// Runs the tests of another project with the pinned Bun: the command `bun` is missing there if npm ran no install scripts.
if (!isScript && words[0] === 'bun') run(findBun(), words.slice(1))
else run(findBun(), [isScript ? command : join(root, command), ...rest])

function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'))
}

/** Returns true if every dependency has its pinned version, and no installation was interrupted. */
async function installed() {
  return !(!isPackage && (await wasInterrupted())) && missing().length === 0
}

function missing() {
  return Object.entries(needed)
    .filter(([name, version]) => !dependencyFolders(name).some((folder) => versionIn(folder) === version))
    .map(([name, version]) => `${name} ${version}`)
}

/**
 * Returns the folders in which npm may have put a dependency: in this project's node_modules, and in those of the folders above.
 */
function dependencyFolders(name) {
  const folders = [join(root, 'node_modules', name)]
  if (isPackage)
    for (let folder = dirname(root); folder !== dirname(folder); folder = dirname(folder))
      folders.push(join(folder, 'node_modules', name))
  return folders
}

function versionIn(folder) {
  try {
    return readJson(join(folder, 'package.json')).version
  } catch {
    return null
  }
}

/**
 * Waits while another process of this checkout installs. Returns true if this installation was interrupted: the process that the
 * marker names no longer runs.
 */
async function wasInterrupted() {
  for (let isSaid = false; existsSync(marker); isSaid = true) {
    const pid = readMarker()
    // In a container, an earlier process may have had this process's number, because numbers start at 1 again.
    if (pid === 0 ? isSaid : pid === process.pid || !alive(pid)) {
      rmSync(marker, { force: true })
      return true
    }
    if (!isSaid) console.error('roster: another process is installing the dependencies; waiting for it')
    await sleep(250)
  }
  return false
}

/** Returns the id of the installing process; 0 if it has not written its id yet, or has just ended. */
function readMarker() {
  try {
    return Number(readFileSync(marker, 'utf8'))
  } catch {
    return 0
  }
}

async function install() {
  try {
    writeFileSync(marker, String(process.pid), { flag: 'wx' })
  } catch ({ code }) {
    if (code !== 'EEXIST')
      fail(`${missing().join(', ')} cannot be installed: ${root} cannot be written (${code}); run npm ci there`)
    return (await installed()) || install() // another process was faster
  }
  console.error('roster: installing the dependencies (once) ...')
  const started = Date.now()
  // Install scripts are off: none is needed, and each is a risk.
  const npm = /npm-cli\.js$/.test(process.env.npm_execpath ?? '') ? [process.execPath, [process.env.npm_execpath]] : ['npm', []]
  const less = isDevelopment ? [] : ['--omit=dev']
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', ...less]
  let result = spawnSync(npm[0], [...npm[1], 'ci', ...options], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
  if (result.error?.code === 'ENOENT' && process.versions.bun)
    result = spawnSync(process.execPath, ['install', '--ignore-scripts', '--silent', ...less], {
      cwd: root,
      stdio: 'inherit',
    })
  if (result.status !== 0) {
    rmSync(marker, { force: true })
    fail(`the dependencies could not be installed (npm ci ended with ${result.status ?? result.signal ?? result.error})`)
  }
  rmSync(marker, { force: true })
  console.error(`roster: installed in ${((Date.now() - started) / 1000).toFixed(1)} s`)
}

/**
 * Returns the path of the pinned Bun. The platform's package comes first, because npm may have skipped the install script that
 * links this package's program into the package `bun`.
 */
function findBun() {
  const ovens = dependencyFolders('@oven').filter(existsSync)
  const candidates = [
    ...ovens.flatMap((oven) => readdirSync(oven).map((folder) => join(oven, folder, 'bin/bun'))),
    ...dependencyFolders('bun').map((folder) => join(folder, 'bin/bun.exe')),
  ]
  const works = (file) => {
    const answer = spawnSync(file, ['--version'], { encoding: 'utf8' })
    return answer.status === 0 && answer.stdout.trim() === manifest.dependencies.bun
  }
  return (
    candidates.find((file) => existsSync(file) && works(file)) ??
    fail(
      `no Bun ${manifest.dependencies.bun} runs here (${process.platform} ${process.arch}); tried ${candidates.join(', ') || 'none'}`,
    )
  )
}

function run(bun, words) {
  // Settings, entities and data are those of the working folder, even if npm has linked this folder.
  const child = spawn(bun, words, {
    cwd: isScript ? root : process.cwd(),
    stdio: 'inherit',
    env: { ...process.env, ROSTER_LAUNCHER: String(process.pid) },
  })
  const passOn = (signal) => child.kill(signal)
  // A terminal's Ctrl-C reaches every process of the group, so SIGINT is passed on only if there is no terminal.
  process.on('SIGINT', () => process.stdin.isTTY || passOn('SIGINT'))
  process.on('SIGTERM', () => passOn('SIGTERM'))
  process.on('SIGHUP', () => passOn('SIGTERM'))
  process.on('SIGUSR2', () => passOn('SIGUSR2'))
  // npm's scripts begin with `exec`, so the parent is no shell: it is npm, or the process that started this one.
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    passOn('SIGTERM')
  }, 1_000)
  watch.unref()
  child.on('exit', (code, signal) => {
    if (!signal) process.exit(code ?? 1)
    process.removeAllListeners(signal)
    // In a container, the first process ignores a signal that it sends to itself, so it ends a little later, with this exit code.
    process.exitCode = 128 + constants.signals[signal]
    process.kill(process.pid, signal)
  })
}

function alive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

function fail(message) {
  console.error(`roster: ${message}`)
  process.exit(1)
}
