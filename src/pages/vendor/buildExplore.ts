// Bundles the modules of /explore, Preact and oauth4webapi into one script, and stores it in this folder, packed, with its hash:
// `npm run build:explore`. test/pages/exploreBuild.test.ts builds again and compares.
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

const VENDOR = import.meta.dir

/** Builds the script; the same sources and versions give the same bytes. @throws AggregateError for a faulty module */
export async function buildExplore(): Promise<Uint8Array<ArrayBuffer>> {
  const { outputs } = await Bun.build({
    entrypoints: [join(import.meta.dir, '../explore/app.tsx')],
    target: 'browser',
    format: 'iife',
    minify: true,
    // Without this, the environment would decide how JSX is compiled.
    define: { 'process.env.NODE_ENV': '"production"' },
    jsx: { runtime: 'automatic', importSource: 'preact', development: false },
    banner: '/*! Preact, MIT License: see LICENSE-preact; oauth4webapi, MIT License: see LICENSE-oauth4webapi */',
  })
  return new Uint8Array(await (outputs[0] as Blob).arrayBuffer())
}

/** Packages in the script, and the files that have their licenses. */
const LICENSES = { preact: 'LICENSE', oauth4webapi: 'LICENSE.md' }

if (import.meta.main) {
  const script = await buildExplore()
  const packed = gzipSync(script, { level: 9 })
  const sha256 = new Bun.CryptoHasher('sha256').update(script).digest('hex')
  const versions: Record<string, string> = {}
  for (const [name, license] of Object.entries(LICENSES)) {
    const folder = join(VENDOR, '../../../node_modules', name)
    versions[name] = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version
    copyFileSync(join(folder, license), join(VENDOR, `LICENSE-${name}`))
  }
  writeFileSync(join(VENDOR, 'explore.js.gz'), packed)
  const facts = { ...versions, sha256, bytes: script.length, packed: packed.length }
  writeFileSync(join(VENDOR, 'explore.json'), `${JSON.stringify(facts, null, 2)}\n`)
  console.log(`${script.length} bytes, ${packed.length} packed`)
}
