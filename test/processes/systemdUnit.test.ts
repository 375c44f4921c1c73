import { expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { leaveOut, temporaryFolder, until, workersOf } from '../support/process.ts'
import { canHaveSmallDisk } from '../support/smallDisk.ts'
import { dataFolder, startProcess } from '../support/start.ts'

const DEPLOY = join(import.meta.dir, '../../deploy')
const LACK = 'there is no systemd-analyze: apt-get install systemd'
const hasSystemd = Bun.which('systemd-analyze') !== null
const unit = readFileSync(join(DEPLOY, 'roster.service'), 'utf8')
const template = readFileSync(join(DEPLOY, 'roster@.service'), 'utf8')

/** Most that `systemd-analyze security` may say of the unit, from 0 (safe) to 10. */
const EXPOSURE_MAX = 3

function analyze(words: readonly string[], text: string, name = 'roster.service'): string {
  const file = join(temporaryFolder().path, name)
  writeFileSync(file, text.replace('/usr/bin/node ', `${Bun.which('node')} `))
  const { stdout, stderr } = Bun.spawnSync(['systemd-analyze', ...words, file])
  return `${stdout}${stderr}`
}

const verify = (text: string, name?: string) => analyze(['verify', '--man=no'], text, name)

test('systemd finds no fault in deploy/roster.service and deploy/roster@.service', () => {
  if (!hasSystemd) return leaveOut('CI_REQUIRES_SYSTEMD', LACK)
  expect(verify(unit.replace('KillMode=', 'KilMode='))).toContain('KilMode')
  expect(verify(unit)).toBe('')
  expect(verify(template, 'roster@acme.service')).toBe('')
})

test('systemd-analyze security gives deploy/roster.service an exposure of at most 3', () => {
  if (!hasSystemd) return leaveOut('CI_REQUIRES_SYSTEMD', LACK)
  const exposureOf = (text: string) => {
    const said = analyze(['security', '--offline=true', '--no-pager'], text)
    return Number(/Overall exposure level for \S+: ([\d.]+)/.exec(said)?.[1])
  }
  expect(exposureOf(unit)).toBeLessThanOrEqual(EXPOSURE_MAX)
  expect(exposureOf(unit.replace(/^(?:Protect|Restrict|SystemCall).*$/gm, ''))).toBeGreaterThan(EXPOSURE_MAX)
})

test('the unit of a tenant differs from deploy/roster.service only by its name, its settings and its folder', () => {
  const settings = (text: string) => text.split('\n').filter((line) => !line.startsWith('#'))
  const other = settings(template).filter((line) => !settings(unit).includes(line))
  expect(other).toEqual([
    'Description=Roster of %i',
    'EnvironmentFile=/etc/roster/%i.env',
    'Environment=DATA_DIR=/var/lib/roster/%i',
    'StateDirectory=roster/%i',
  ])
})

/** Runs a command as the unit does: all is read-only but /dev/shm and its own folder, and it can gain no rights. */
const CONFINED = `
  mount --bind "$DATA_DIR" "$DATA_DIR" && mount -o remount,bind,ro / && mount -t tmpfs tmpfs /tmp &&
  chown 65534:65534 "$DATA_DIR" && chmod 700 "$DATA_DIR" &&
  exec setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all \\
    strace -D -f -c -U name -o "$CALLS" "$0" "$@"`

/** Names of system calls that the unit allows: each line adds or removes some. systemd.exec(5), SystemCallFilter */
function allowedCalls(): Set<string> {
  let allowed = callsOf('@default')
  for (const [, isRefused, name = ''] of unit.matchAll(/^SystemCallFilter=(~?)(\S+)$/gm)) {
    const named = name.startsWith('@') ? callsOf(name) : new Set([name])
    allowed = isRefused ? allowed.difference(named) : allowed.union(named)
  }
  return allowed
}

/** Returns the system calls of a set of systemd, also of the sets that it has. */
function callsOf(set: string): Set<string> {
  const { stdout } = Bun.spawnSync(['systemd-analyze', 'syscall-filter', '--no-pager', set])
  const names = [...`${stdout}`.matchAll(/^ {4}([@\w-]+)$/gm)].map(([, name]) => name as string)
  return new Set(names.flatMap((name) => (name.startsWith('@') ? [...callsOf(name)] : [name])))
}

const LACKS = [
  [hasSystemd, 'CI_REQUIRES_SYSTEMD', LACK],
  [canHaveSmallDisk && process.getuid?.() === 0, 'CI_REQUIRES_NAMESPACES', 'no process may mount a disk here'],
  [Bun.which('strace') !== null, 'CI_REQUIRES_SYSTEMD', 'there is no strace: apt-get install strace'],
] as const

test('a server with the embedded PostgreSQL starts, reloads and stops under the restrictions of deploy/roster.service', async () => {
  const lack = LACKS.find(([isThere]) => !isThere)
  if (lack) return leaveOut(lack[1], lack[2])
  const folder = dataFolder()
  const calls = join(folder, 'calls')
  const settings = { DATA_DIR: folder, CALLS: calls, LOG_LEVEL: 'info', WORKERS: '1' }
  const { server, ask } = await startProcess(settings, [
    'unshare',
    '-m',
    'sh',
    '-c',
    CONFINED,
    process.execPath,
    '--no-env-file',
    'src/main.ts',
  ])
  expect((await ask('POST', '/Companies', { name: 'Confined' })).status).toBe(201)
  const before = workersOf(server.pid)
  server.kill('SIGUSR2')
  await server.waitFor(/restart done/)
  expect(workersOf(server.pid)).not.toEqual(before)
  expect((await ask('GET', '/Companies?Name=Confined')).body).toHaveLength(1)
  expect(await server.stop()).toBe(0)
  // strace writes its table when the last process has ended.
  await until(() => readFileSync(calls, 'utf8').includes('total'))
  const made = readFileSync(calls, 'utf8').match(/^\w+$/gm) ?? []
  expect(made).toContain('openat')
  const allowed = allowedCalls().add('syscall').add('total') // the head and the foot of the table
  expect(made.filter((name) => !allowed.has(name))).toEqual([])
})
