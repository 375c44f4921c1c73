// Bundles the modules of /explore and Preact into one script, and stores it in this folder, packed, with its hash: `npm run
// build:explore`. test/pages/exploreBuild.test.ts builds again and compares.
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
    banner: '/*! Preact, MIT License: see LICENSE-preact */',
  })
  return new Uint8Array(await (outputs[0] as Blob).arrayBuffer())
}

if (import.meta.main) {
  const script = await buildExplore()
  const packed = gzipSync(script, { level: 9 })
  const preact = join(import.meta.dir, '../../../node_modules/preact')
  const { version } = JSON.parse(readFileSync(join(preact, 'package.json'), 'utf8'))
  const sha256 = new Bun.CryptoHasher('sha256').update(script).digest('hex')
  writeFileSync(join(VENDOR, 'explore.js.gz'), packed)
  const facts = { preact: version, sha256, bytes: script.length, packed: packed.length }
  writeFileSync(join(VENDOR, 'explore.json'), `${JSON.stringify(facts, null, 2)}\n`)
  copyFileSync(join(preact, 'LICENSE'), join(VENDOR, 'LICENSE-preact'))
  console.log(`${script.length} bytes, ${packed.length} packed`)
}
