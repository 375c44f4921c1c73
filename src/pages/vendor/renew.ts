// Fetches a version of Scalar's API reference by npm, and stores its script for browsers in this folder, packed, with its hashes:
// `npm run renew:scalar -- 1.72.1`. Then run test/pages, and look at /docs.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

const NAME = '@scalar/api-reference'
const SCRIPT = 'package/dist/browser/standalone.js'
const MANIFEST = 'package/package.json'
/** License of Scalar. The package has no license text; the one in LICENSE is from its repository. */
const LICENSE = 'MIT'

const [version = ''] = process.argv.slice(2)
if (!/^\d+\.\d+\.\d+$/.test(version)) {
  console.error('usage: npm run renew:scalar -- <version>')
  process.exit(1)
}
const folder = mkdtempSync(join(tmpdir(), 'roster-scalar-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
// npm checks the package against the registry's hash.
const [{ filename, integrity }] = await Bun.$`npm pack --json --pack-destination ${folder} ${NAME}@${version}`.json()
await Bun.$`tar -xzf ${join(folder, filename)} -C ${folder} ${SCRIPT} ${MANIFEST}`
const { license } = JSON.parse(readFileSync(join(folder, MANIFEST), 'utf8'))
if (license !== LICENSE) throw new Error(`the license is ${license}, no longer ${LICENSE}: look at it, and at LICENSE`)

for (const name of readdirSync(import.meta.dir).filter((name) => /^scalar-.*\.gz$/.test(name)))
  rmSync(join(import.meta.dir, name))
const script = readFileSync(join(folder, SCRIPT))
const gzipped = gzipSync(script, { level: 9 })
const facts = {
  name: NAME,
  version,
  license,
  file: SCRIPT.replace('package/', ''),
  integrity,
  sha256: new Bun.CryptoHasher('sha256').update(script).digest('hex'),
  bytes: script.length,
}
writeFileSync(join(import.meta.dir, `scalar-${version}.js.gz`), gzipped)
writeFileSync(join(import.meta.dir, 'scalar.json'), `${JSON.stringify(facts, null, 2)}\n`)
console.log(`${NAME} ${version}: ${script.length} bytes, ${gzipped.length} packed`)
