import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  anonymousClients,
  LimiterFiles,
  type LimiterSettings,
  type LimiterTables,
  ownLimitsOf,
} from '../../src/admit/limiterFiles.ts'
import { wordsFor } from '../../src/admit/window.ts'
import type { KeyRecord } from '../../src/model/key.ts'
import { parseRules } from '../../src/model/limits.ts'
import { openRegion } from '../../src/os/region.ts'
import { temporaryFolder } from '../support/process.ts'
import { makeKey } from '../support/server.ts'

const SETTINGS: LimiterSettings = {
  rateLimits: parseRules('9/1m'),
  rateLimitsAnonymous: parseRules('100000/1m'),
  rateLimitClients: 3,
  rateLimitsPersons: parseRules('4/1m'),
  oidcIssuer: null,
}

let folder: ReturnType<typeof temporaryFolder>
const opened: LimiterFiles[] = []
beforeEach(() => {
  folder = temporaryFolder()
})
afterEach(() => {
  for (const files of opened.splice(0)) files.close()
})

/** As a start of the server does. */
function start(settings: Partial<LimiterSettings> = {}): LimiterFiles {
  const files = new LimiterFiles(folder.path, { ...SETTINGS, ...settings })
  opened.push(files)
  return files
}

const keyOf = (name: string, limits: string | null) => makeKey({ name, limits }).record
const there = () => readdirSync(folder.path).sort()
const own = () => there().filter((name) => name.startsWith('own-'))
const orThrow = (error: Error) => {
  throw error
}
const ensure = (files: LimiterFiles, ...records: KeyRecord[]) => files.ensure(ownLimitsOf(records), orThrow)

const namesOf = (own: LimiterTables['own']) => [...own.keys()].map((table) => table.split('\n')[0])
const pathOf = (own: LimiterTables['own'], name: string) =>
  [...own].find(([table]) => table.startsWith(`${name}\n`))?.[1].path as string

function mark(path: string, value: number) {
  const { words } = openRegion(path)
  words[words.length - 1] = value
}
const marked = (path: string) => openRegion(path).words.at(-1)

describe('the tables that all keys and addresses share', () => {
  test('have room for the configured keys and addresses, and are made again when they are damaged', () => {
    const files = start()
    const memory = ensure(files)
    expect(there()).toEqual(['anonymous', 'keys'])
    expect(openRegion(memory.anonymous).words.length).toBe(wordsFor(64, SETTINGS.rateLimitsAnonymous))
    expect(memory.own.size).toBe(0)
    expect(statSync(join(folder.path, 'keys')).mode & 0o777).toBe(0o600)
    mark(memory.keys, 7)
    truncateSync(join(folder.path, 'keys'), 10)
    expect(marked(ensure(files).keys)).toBe(0)
    expect(statSync(join(folder.path, 'keys')).size).toBe(4 * wordsFor(3, SETTINGS.rateLimits))
  })

  test.each<[string, Partial<LimiterSettings>, number, number]>([
    ['the same settings', {}, 7, 8],
    ['other limits', { rateLimits: parseRules('10/1m') }, 0, 8],
    ['limits of another period', { rateLimits: parseRules('9/2m') }, 0, 8],
    ['room for more keys', { rateLimitClients: 4 }, 0, 8],
    ['other limits of addresses', { rateLimitsAnonymous: parseRules('100001/1m') }, 7, 0],
  ])('keep their counts at the next start, except those whose setting has changed: %s', (_, settings, keys, anonymous) => {
    const before = ensure(start())
    mark(before.keys, 7)
    mark(before.anonymous, 8)
    const after = ensure(start(settings))
    expect([marked(after.keys), marked(after.anonymous)]).toEqual([keys, anonymous])
  })
})

describe('D99: the table of persons', () => {
  test('exists if the server accepts tokens, has room for 10,000 persons, and keeps its counts at the next start', () => {
    expect(ensure(start()).persons).toBeNull()
    expect(there()).toEqual(['anonymous', 'keys'])
    const { persons } = ensure(start({ oidcIssuer: 'https://login.example.com' }))
    expect(there()).toEqual(['anonymous', 'keys', 'persons'])
    expect(openRegion(persons as string).words.length).toBe(wordsFor(10_000, SETTINGS.rateLimitsPersons))
    mark(persons as string, 7)
    expect(marked(ensure(start({ oidcIssuer: 'https://other.example.com' })).persons as string)).toBe(7)
  })

  test('is created again when it is damaged, and the tables get a new serial number, so that workers open them again', () => {
    const files = start({ oidcIssuer: 'https://login.example.com' })
    const { persons, serial } = ensure(files)
    truncateSync(persons as string, 10)
    const after = ensure(files)
    expect([after.serial === serial, marked(after.persons as string)]).toEqual([false, 0])
  })
})

describe('the table of a key with its own limits', () => {
  test('has a single entry, which keys of the same name share; a key of another name has another table', () => {
    const records = [keyOf('a', '20/1m'), keyOf('b', '20/1m'), keyOf('a', '20/1m'), keyOf('plain', null)]
    const { own: paths } = ensure(start(), ...records)
    expect([...paths.keys()]).toEqual(['a\n20/1m', 'b\n20/1m'])
    expect(own()).toHaveLength(2)
    expect(openRegion(pathOf(paths, 'a')).words.length).toBe(wordsFor(1, parseRules('20/1m')))
    mark(pathOf(paths, 'a'), 7)
    expect([marked(pathOf(paths, 'a')), marked(pathOf(paths, 'b'))]).toEqual([7, 0])
  })

  test('is kept while the key exists, also by later starts, and is deleted with the key or its limits', () => {
    const files = start()
    const ci = keyOf('ci', '20/1m')
    mark(pathOf(ensure(files, ci).own, 'ci'), 7)
    expect(marked(pathOf(ensure(files, ci, keyOf('new', '5/1m'), keyOf('c', '5/1m')).own, 'ci'))).toBe(7)
    expect(namesOf(ensure(files, ci, keyOf('c', null)).own)).toEqual(['ci'])
    expect(own()).toHaveLength(1)
    expect(marked(pathOf(ensure(start(), ci).own, 'ci'))).toBe(7)
  })

  test('is replaced if it is damaged or has other limits', () => {
    const files = start()
    mark(pathOf(ensure(files, keyOf('ci', '20/1m')).own, 'ci'), 7)
    truncateSync(join(folder.path, own()[0] as string), 10)
    const again = pathOf(ensure(files, keyOf('ci', '20/1m')).own, 'ci')
    expect(marked(again)).toBe(0)
    mark(again, 7)
    const { own: paths } = ensure(files, keyOf('ci', '30/1m'))
    expect(openRegion(pathOf(paths, 'ci')).words.length).toBe(wordsFor(1, parseRules('30/1m')))
    expect(marked(pathOf(paths, 'ci'))).toBe(0)
    expect(own()).toHaveLength(1)
  })

  test('is kept after a restart until the keys are known; the file "lock" is never deleted', () => {
    writeFileSync(join(folder.path, 'own-left'), 'x')
    writeFileSync(join(folder.path, 'lock'), '')
    const files = start()
    files.ensure(null, orThrow)
    expect(there()).toEqual(['anonymous', 'keys', 'lock', 'own-left'])
    ensure(files)
    expect(there()).toEqual(['anonymous', 'keys', 'lock'])
  })

  test('is not created while the disk has no room, which is reported as an error, and is created once there is room', async () => {
    const script = `
      const { LimiterFiles, ownLimitsOf } = await import('${import.meta.dir}/../../src/admit/limiterFiles.ts')
      const { parseRules } = await import('${import.meta.dir}/../../src/model/limits.ts')
      const settings = { rateLimits: parseRules('9/1m'), rateLimitsAnonymous: parseRules('1/1m'), rateLimitClients: 3, oidcIssuer: null }
      const files = new LimiterFiles('${folder.path}', settings)
      const records = ['big', 'small'].map((name) => ({ name, limits: name === 'big' ? '1000000/1m' : '5/1m' }))
      const errors = []
      const { own } = files.ensure(ownLimitsOf(records), (error) => errors.push(error.message.split(' at ')[0]))
      console.log(JSON.stringify([[...own.keys()].map((table) => table.split('\\n')[0]), errors]))`
    // A limit on the size of files, in blocks of 512 or 1,024 bytes, stands for a full disk.
    const limited = ['sh', '-c', `trap '' XFSZ; ulimit -f 6000; exec "$0" -e "$1"`, process.execPath, script]
    const child = Bun.spawn(limited, { stdout: 'pipe', stderr: 'inherit' })
    const said = JSON.parse(await new Response(child.stdout).text())
    expect(said).toEqual([['small'], ['there is no room for 7.6 MiB of shared memory']])
    expect(own()).toHaveLength(1)
    const { own: paths } = ensure(start(), keyOf('big', '1000000/1m'), keyOf('small', '5/1m'))
    expect(namesOf(paths).sort()).toEqual(['big', 'small'])
  })
})

describe('anonymousClients', () => {
  test.each([
    ['1/1m', 65_536],
    ['60/1m', 30_840],
    ['60/1m,600/1h', 3_449],
    ['32000/1h', 65],
    ['100000/1h', 64],
    ['1000000/1h', 64],
  ])('returns, for the limits %s, room for %d addresses', (limits, clients) => {
    const rules = parseRules(limits)
    expect(anonymousClients(rules)).toBe(clients)
    // 8 MiB, unless 64 addresses need more.
    if (clients > 64) expect(4 * wordsFor(clients - 1, rules)).toBeLessThanOrEqual(8 * 1024 * 1024 + 64)
  })
})
