import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { anonymousClients, LimiterFiles, type LimiterSettings } from '../../src/admit/limiterFiles.ts'
import { Limiters } from '../../src/admit/limiters.ts'
import { wordsFor } from '../../src/admit/window.ts'
import type { KeyRecord } from '../../src/model/key.ts'
import { parseRules } from '../../src/model/limits.ts'
import { openRegion } from '../../src/os/region.ts'
import { temporaryFolder } from '../support/process.ts'
import { makeKey } from '../support/server.ts'

const SETTINGS: LimiterSettings = { limits: parseRules('9/1m'), anonymousLimits: parseRules('100000/1m'), clients: 3 }

let folder: ReturnType<typeof temporaryFolder>
const opened: LimiterFiles[] = []
beforeEach(() => {
  folder = temporaryFolder()
})
afterEach(() => {
  for (const files of opened.splice(0)) files.close()
  folder.remove()
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
const ensure = (files: LimiterFiles, ...records: KeyRecord[]) => files.ensure(records, orThrow)

function mark(path: string, value: number) {
  const { words } = openRegion(path)
  words[words.length - 1] = value
}
const marked = (path: string) => openRegion(path).words.at(-1)

describe('news of keys', () => {
  const newsIn = (files: LimiterFiles) => new Limiters(SETTINGS, ensure(files), null).newsMs()

  test('there is none at first; what is noted is seen, also in a table that is made anew', () => {
    const files = start()
    expect(newsIn(files)).toBe(0)
    files.noteNews(2 ** 32 + 7)
    expect(newsIn(files)).toBe(7)
    truncateSync(join(folder.path, 'keys'), 0)
    expect(newsIn(files)).toBe(7)
    files.noteNews(2 ** 32)
    expect(newsIn(files)).toBe(1) // 0 is the word for none
    expect(newsIn(start())).toBe(0)
  })
})

describe('the tables that all share', () => {
  test('are made with room for so many keys, and for addresses', () => {
    const memory = ensure(start())
    expect(there()).toEqual(['anonymous', 'keys'])
    expect(openRegion(memory.keys).words.length).toBe(wordsFor(3, SETTINGS.limits))
    expect(openRegion(memory.anonymous).words.length).toBe(wordsFor(64, SETTINGS.anonymousLimits))
    expect(memory.own.size).toBe(0)
    expect(statSync(join(folder.path, 'keys')).mode & 0o777).toBe(0o600)
  })

  test('are kept by the next start', () => {
    const before = ensure(start())
    mark(before.keys, 7)
    mark(before.anonymous, 8)
    const after = ensure(start())
    expect([marked(after.keys), marked(after.anonymous)]).toEqual([7, 8])
  })

  const changes: [string, Partial<LimiterSettings>, number, number][] = [
    ['other limits', { limits: parseRules('10/1m') }, 0, 8],
    ['limits of another period', { limits: parseRules('9/2m') }, 0, 8],
    ['room for more keys', { clients: 4 }, 0, 8],
    ['other limits of addresses', { anonymousLimits: parseRules('100001/1m') }, 7, 0],
  ]
  for (const [name, settings, keys, anonymous] of changes)
    test(`begin anew with ${name}, and only they do`, () => {
      const before = ensure(start())
      mark(before.keys, 7)
      mark(before.anonymous, 8)
      const after = ensure(start(settings))
      expect([marked(after.keys), marked(after.anonymous)]).toEqual([keys, anonymous])
    })

  test('are made again when they are damaged', () => {
    const files = start()
    mark(ensure(files).keys, 7)
    truncateSync(join(folder.path, 'keys'), 10)
    expect(marked(ensure(files).keys)).toBe(0)
    expect(statSync(join(folder.path, 'keys')).size).toBe(4 * wordsFor(3, SETTINGS.limits))
  })
})

describe('the table of a key with limits of its own', () => {
  test('has room for that key and those limits', () => {
    const { own: paths } = ensure(start(), keyOf('ci', '20/1m'), keyOf('plain', null))
    expect([...paths.keys()]).toEqual(['ci'])
    expect(openRegion(paths.get('ci')?.path as string).words.length).toBe(wordsFor(1, parseRules('20/1m')))
    expect(own()).toHaveLength(1)
  })

  test('is another for each name and for other limits, and one for all keys of a name', () => {
    const records = [keyOf('a', '20/1m'), keyOf('b', '20/1m'), keyOf('a', '20/1m')]
    const { own: paths } = ensure(start(), ...records)
    expect(own()).toHaveLength(2)
    mark(paths.get('a')?.path as string, 7)
    expect([marked(paths.get('a')?.path as string), marked(paths.get('b')?.path as string)]).toEqual([7, 0])
  })

  test('is kept while the key is there, by later starts too', () => {
    const files = start()
    mark(ensure(files, keyOf('ci', '20/1m')).own.get('ci')?.path as string, 7)
    expect(marked(ensure(files, keyOf('ci', '20/1m'), keyOf('new', '5/1m')).own.get('ci')?.path as string)).toBe(7)
    expect(marked(ensure(start(), keyOf('ci', '20/1m')).own.get('ci')?.path as string)).toBe(7)
  })

  test('goes with the key, and with its limits', () => {
    const files = start()
    ensure(files, keyOf('a', '20/1m'), keyOf('b', '20/1m'), keyOf('c', '20/1m'))
    expect([...ensure(files, keyOf('a', '20/1m'), keyOf('c', null)).own.keys()]).toEqual(['a'])
    expect(own()).toHaveLength(1)
  })

  test('of other limits is new', () => {
    const files = start()
    mark(ensure(files, keyOf('ci', '20/1m')).own.get('ci')?.path as string, 7)
    const { own: paths } = ensure(files, keyOf('ci', '30/1m'))
    expect(openRegion(paths.get('ci')?.path as string).words.length).toBe(wordsFor(1, parseRules('30/1m')))
    expect(marked(paths.get('ci')?.path as string)).toBe(0)
    expect(own()).toHaveLength(1)
  })

  test('that an earlier run left is thrown away, other files are not', () => {
    writeFileSync(join(folder.path, 'own-left'), 'x')
    writeFileSync(join(folder.path, 'lock'), '')
    ensure(start())
    expect(there()).toEqual(['anonymous', 'keys', 'lock'])
  })

  test('is made again when it is damaged', () => {
    const files = start()
    ensure(files, keyOf('ci', '20/1m'))
    const [name] = own()
    truncateSync(join(folder.path, name as string), 10)
    const { own: paths } = ensure(files, keyOf('ci', '20/1m'))
    expect(openRegion(paths.get('ci')?.path as string).words.length).toBe(wordsFor(1, parseRules('20/1m')))
  })

  test('that an operator deleted goes on', () => {
    const files = start()
    const { own: before } = ensure(files, keyOf('ci', '20/1m'))
    mark(before.get('ci')?.path as string, 7)
    for (const name of own()) rmSync(join(folder.path, name))
    const { own: after } = ensure(files, keyOf('ci', '20/1m'))
    expect(marked(after.get('ci')?.path as string)).toBe(process.platform === 'linux' ? 7 : 0)
  })

  test('whose limits cannot be read is left out with a word, and the others are made', () => {
    const errors: string[] = []
    const records = [keyOf('odd', '5/1y'), keyOf('ci', '20/1m')]
    const { own: paths } = start().ensure(records, (error) => errors.push(error.message))
    expect([...paths.keys()]).toEqual(['ci'])
    expect(errors).toEqual(['"5/1y" is not a limit like 750/1m'])
  })

  test('for which there is no room is left out with a word, and made when there is', async () => {
    const script = `
      const { LimiterFiles } = await import('${import.meta.dir}/../../src/admit/limiterFiles.ts')
      const { parseRules } = await import('${import.meta.dir}/../../src/model/limits.ts')
      const settings = { limits: parseRules('9/1m'), anonymousLimits: parseRules('1/1m'), clients: 3 }
      const files = new LimiterFiles('${folder.path}', settings)
      const records = ['big', 'small'].map((name) => ({ name, limits: name === 'big' ? '1000000/1m' : '5/1m' }))
      const errors = []
      const { own } = files.ensure(records, (error) => errors.push(error.message.split(' at ')[0]))
      console.log(JSON.stringify([[...own.keys()], errors]))`
    // A limit on the size of files, in blocks of 512 or 1,024 bytes, stands for a full disk.
    const limited = ['sh', '-c', `trap '' XFSZ; ulimit -f 6000; exec "$0" -e "$1"`, process.execPath, script]
    const child = Bun.spawn(limited, { stdout: 'pipe', stderr: 'inherit' })
    const said = JSON.parse(await new Response(child.stdout).text())
    expect(said).toEqual([['small'], ['there is no room for 7.6 MiB of shared memory']])
    expect(own()).toHaveLength(1)
    const { own: paths } = ensure(start(), keyOf('big', '1000000/1m'), keyOf('small', '5/1m'))
    expect([...paths.keys()].sort()).toEqual(['big', 'small'])
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
  ])('%s: %d addresses have room', (limits, clients) => {
    const rules = parseRules(limits)
    expect(anonymousClients(rules)).toBe(clients)
    // 8 MiB, unless 64 addresses need more.
    if (clients > 64) expect(4 * wordsFor(clients - 1, rules)).toBeLessThanOrEqual(8 * 1024 * 1024 + 64)
  })
})
