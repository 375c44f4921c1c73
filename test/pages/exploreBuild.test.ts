import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { dependencies, devDependencies } from '../../package.json'
import { buildExplore, SCRIPTS } from '../../src/pages/vendor/buildExplore.ts'
import explore from '../../src/pages/vendor/explore.json'
import exploreReader from '../../src/pages/vendor/exploreReader.json'

const FOLDER = join(import.meta.dir, '../../src/pages/vendor')
/** What is stored of each script, and the maximum size of the packed one in bytes. */
const STORED = { explore: { facts: explore, packedMax: 90_000 }, exploreReader: { facts: exploreReader, packedMax: 40_000 } }

test.each(['explore', 'exploreReader'] as const)(
  'the vendored script %s equals a new build (npm run build:explore), is small, and has the licenses of its packages',
  async (name) => {
    const { facts, packedMax } = STORED[name]
    const packed = new Uint8Array(readFileSync(join(FOLDER, `${name}.js.gz`)))
    const script = Bun.gunzipSync(packed)
    const sha256 = new Bun.CryptoHasher('sha256').update(script).digest('hex')
    expect(facts).toMatchObject({ sha256, bytes: script.length, packed: packed.length })
    expect(Buffer.compare(script, await buildExplore(SCRIPTS[name]))).toBe(0)
    expect(packed.length).toBeLessThan(packedMax)
    const versions: Readonly<Record<string, string>> = { ...dependencies, ...devDependencies }
    for (const used of Object.keys(SCRIPTS[name].licenses)) {
      expect(facts).toMatchObject({ [used]: versions[used] })
      expect(readFileSync(join(FOLDER, `LICENSE-${used}`), 'utf8')).toContain('Permission is hereby granted, free of charge')
    }
  },
)
