// Bundles the modules of /explore, Preact and oauth4webapi into one script, and what reads dropped files, with fflate and saxen,
// into another. Stores them in this folder, packed, with their hashes: `npm run build:explore`. test/pages/exploreBuild.test.ts
// builds again and compares.
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

const VENDOR = import.meta.dir

/** A script of the page. */
interface Script {
  readonly entry: string
  /** The first one runs at once; a module is imported when a file is dropped. */
  readonly format: 'iife' | 'esm'
  /** Packages in the script, and the files that have their licenses. */
  readonly licenses: Readonly<Record<string, string>>
  readonly banner: string
}

/** The scripts by their names in this folder. */
export const SCRIPTS: Readonly<Record<'explore' | 'exploreReader', Script>> = {
  explore: {
    entry: 'app.tsx',
    format: 'iife',
    licenses: { preact: 'LICENSE', oauth4webapi: 'LICENSE.md' },
    banner: 'Preact, MIT License: see LICENSE-preact; oauth4webapi, MIT License: see LICENSE-oauth4webapi',
  },
  exploreReader: {
    entry: 'importReader.ts',
    format: 'esm',
    licenses: { fflate: 'LICENSE', saxen: 'LICENSE', 'fastest-levenshtein': 'LICENSE.md' },
    banner: 'fflate, saxen and fastest-levenshtein, MIT License: see LICENSE-fflate, LICENSE-saxen, LICENSE-fastest-levenshtein',
  },
}

/** Builds a script; the same sources and versions give the same bytes. @throws AggregateError for a faulty module */
export async function buildExplore({ entry, format, banner }: Script): Promise<Uint8Array<ArrayBuffer>> {
  const { outputs } = await Bun.build({
    entrypoints: [join(import.meta.dir, '../explore', entry)],
    target: 'browser',
    format,
    minify: true,
    // Without this, the environment would decide how JSX is compiled.
    define: { 'process.env.NODE_ENV': '"production"' },
    jsx: { runtime: 'automatic', importSource: 'preact', development: false },
    banner: `/*! ${banner} */`,
  })
  return new Uint8Array(await (outputs[0] as Blob).arrayBuffer())
}

if (import.meta.main) {
  for (const [name, script] of Object.entries(SCRIPTS)) {
    const built = await buildExplore(script)
    const packed = gzipSync(built, { level: 9 })
    const sha256 = new Bun.CryptoHasher('sha256').update(built).digest('hex')
    const versions: Record<string, string> = {}
    for (const [used, license] of Object.entries(script.licenses)) {
      const folder = join(VENDOR, '../../../node_modules', used)
      versions[used] = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version
      copyFileSync(join(folder, license), join(VENDOR, `LICENSE-${used}`))
    }
    writeFileSync(join(VENDOR, `${name}.js.gz`), packed)
    const facts = { ...versions, sha256, bytes: built.length, packed: packed.length }
    writeFileSync(join(VENDOR, `${name}.json`), `${JSON.stringify(facts, null, 2)}\n`)
    console.log(`${name}: ${built.length} bytes, ${packed.length} packed`)
  }
}
