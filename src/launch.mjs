#!/usr/bin/env node
// Plain Node: installs what is missing, finds the pinned Bun, runs it, and passes signals on. Nothing else may be
// assumed to be there yet, so this file imports nothing but Node's own modules.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const marker = join(root, '.installing')
const manifest = readJson(join(root, 'package.json'))
// A package of another project: npm packs no lockfile, and has installed what is needed wherever it found room.
const isPackage = !existsSync(join(root, 'package-lock.json'))
// The scripts of this project name a program; as a command of another project, `roster`, it is always the same one.
const words = process.argv.slice(2)
const isScript = !isPackage && words[0]?.endsWith('.ts') === true
const [command, ...rest] = isScript ? words : ['src/main.ts', ...words]
// The tests, benches and checks need the development dependencies; a server, and a program of its user, do not.
const isDevelopment = /^(test|bench)\//.test(command ?? '')
const needed = { ...manifest.dependencies, ...(isDevelopment ? manifest.devDependencies : {}) }

if (!(await installed())) {
  if (isPackage) fail(`${missing().join(', ')} cannot be found: run npm install`)
  await install()
}
// Tests of another project are run by the same Bun: its own command is not there where npm ran no scripts.
if (!isScript && words[0] === 'bun') run(findBun(), words.slice(1))
else run(findBun(), [isScript ? command : join(root, command), ...rest])

function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'))
}

/** Every dependency is there in the version that package.json pins, and no installation was cut short. */
async function installed() {
  return !(!isPackage && (await wasCutShort())) && missing().length === 0
}

function missing() {
  return Object.entries(needed)
    .filter(([name, version]) => !places(name).some((folder) => versionIn(folder) === version))
    .map(([name, version]) => `${name} ${version}`)
}

/** Folders in which npm may have put a dependency: this one's, and those of the folders above it. */
function places(name) {
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

/** Waits while another process of this checkout installs; a marker whose process is gone means: cut short. */
async function wasCutShort() {
  for (let isSaid = false; existsSync(marker); isSaid = true) {
    const pid = readMarker()
    // Our own number is that of a process before us: a container counts from 1 again.
    if (pid === 0 ? isSaid : pid === process.pid || !alive(pid)) {
      rmSync(marker, { force: true })
      return true
    }
    if (!isSaid) console.error('roster: another process is installing the dependencies; waiting for it')
    await sleep(250)
  }
  return false
}

/** The process that installs; 0: it has only begun to write its number, or has just ended. */
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
  // Scripts off: nothing here needs one, and fewer hands touch the machine.
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

/** The pinned Bun: the platform's own package first, since npm may have left install scripts out. */
function findBun() {
  const ovens = places('@oven').filter(existsSync)
  const candidates = [
    ...ovens.flatMap((oven) => readdirSync(oven).map((folder) => join(oven, folder, 'bin/bun'))),
    ...places('bun').map((folder) => join(folder, 'bin/bun.exe')),
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
  // Settings, entities and data are those of the project whose command it is, also where npm has put a link to this folder.
  const child = spawn(bun, words, {
    cwd: isScript ? root : process.cwd(),
    stdio: 'inherit',
    env: { ...process.env, ROSTER_LAUNCHER: String(process.pid) },
  })
  const passOn = (signal) => child.kill(signal)
  // A terminal's Ctrl-C reaches every process of the group, so only what comes from elsewhere is passed on.
  process.on('SIGINT', () => process.stdin.isTTY || passOn('SIGINT'))
  process.on('SIGTERM', () => passOn('SIGTERM'))
  process.on('SIGHUP', () => passOn('SIGTERM'))
  process.on('SIGUSR2', () => passOn('SIGUSR2'))
  // npm's scripts begin with `exec`, so no shell stands between: the parent is npm, or the process that started us.
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
    // For the first process of a container, which the signal does not end.
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
