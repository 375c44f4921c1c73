import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Modules of tests that have PostgreSQL, a server or a program. */
const OTHERS = /\/test\/support\/(?:postgres|server|process|cluster)\.ts$/
/** What of the process itself, or of the machine, the tests of other files would notice. */
const OWN = /Bun\.(?:spawn|serve|listen)|spawnSync|spawn\(|createServer|process\.(?:env|chdir|on\()/

/** Whether a test file, or what it imports of the tests, has more than code that computes. */
export function needsOthers(file: string): boolean {
  const seen = new Set<string>()
  const visit = (path: string): boolean => {
    if (seen.has(path) || !existsSync(path)) return false
    seen.add(path)
    if (OTHERS.test(path)) return true
    const text = readFileSync(path, 'utf8')
    if (path.includes('/test/') && OWN.test(text)) return true
    return [...text.matchAll(/from '(\.[^']+)'/g)].some(([, other]) => visit(join(dirname(path), other as string)))
  }
  return visit(file)
}
