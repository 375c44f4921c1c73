import { afterEach, describe, expect, test } from 'bun:test'
import { readdirSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { HEADER_WORDS, OWN_WORD, openRegion, SEED_WORD } from '../../src/os/region.ts'
import { createSealed, type SealedRegion } from '../../src/os/sealed.ts'
import { temporaryMemory } from '../support/memory.ts'

const WORDS = 2_000
const onLinux = process.platform === 'linux'
const opened: SealedRegion[] = []
afterEach(() => {
  for (const { close } of opened.splice(0)) close()
})

function create(words = WORDS, folder = temporaryMemory()): SealedRegion {
  const sealed = createSealed(join(folder, 'sealed'), 'shape', words)
  opened.push(sealed)
  return sealed
}

describe('a sealed region', () => {
  test('is empty but for its header and two seeds, which differ from those of another', () => {
    const [{ words }, other] = [create().region, create().region]
    expect(words.length).toBe(WORDS)
    expect(words.subarray(HEADER_WORDS).every((word) => word === 0)).toBe(true)
    expect(words.subarray(SEED_WORD, OWN_WORD)).not.toEqual(other.words.subarray(SEED_WORD, OWN_WORD))
  })

  test('is the same memory in another process, which cannot truncate it', async () => {
    const { region, path } = create()
    Atomics.store(region.words, OWN_WORD, 42)
    const script = `
      const { openRegion } = await import('${import.meta.dir}/../../src/os/region.ts')
      const { words } = openRegion('${path}')
      const was = Atomics.exchange(words, ${OWN_WORD}, 43)
      let fault = 'none'
      try { require('node:fs').truncateSync('${path}', 0) } catch (error) { fault = error.code }
      console.log(JSON.stringify([was, fault, words.length]))`
    const child = Bun.spawnSync([process.execPath, '-e', script], { stderr: 'inherit' })
    const [was, fault, words] = JSON.parse(child.stdout.toString())
    expect([was, words]).toEqual([42, WORDS])
    if (onLinux) expect(fault).toBe('EPERM')
    expect(Atomics.load(region.words, OWN_WORD)).toBe(43)
  })

  test('has no name that could be deleted or put there before, and goes on when it is closed here', () => {
    if (!onLinux) return
    const folder = temporaryMemory()
    const { path, region, close } = create(WORDS, folder)
    const own = openRegion(path)
    expect(readdirSync(folder)).toEqual([])
    for (const length of [0, WORDS * 4 - 4, WORDS * 4 + 4]) expect(() => truncateSync(path, length)).toThrow('EPERM')
    opened.pop()
    close()
    Atomics.store(region.words, OWN_WORD, 7)
    expect(Atomics.load(own.words, OWN_WORD)).toBe(7)
    own.close()
  })

  test('that no memory has room for is refused before any of it is taken', () => {
    if (!onLinux) return
    const before = process.memoryUsage.rss()
    expect(() => create(2 ** 42)).toThrow(/there is no room for 16777216\.0 MiB of shared memory/)
    expect(process.memoryUsage.rss() - before).toBeLessThan(2 ** 26)
  })
})
