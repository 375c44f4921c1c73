import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dir, '../..')

/** The tests that a page names, as `path`: "title", and those of them that are not there. */
export function testsNamedBy(page: string): { named: string[]; absent: string[] } {
  const matches = [...page.matchAll(/`(test\/[\w/]+\.test\.ts)`: "([^"]+)"/g)]
  const isThere = (path: string, title: string) =>
    existsSync(join(ROOT, path)) && readFileSync(join(ROOT, path), 'utf8').includes(title)
  return {
    named: matches.map(([whole]) => whole),
    absent: matches.flatMap(([whole, path = '', title = '']) => (isThere(path, title) ? [] : [whole])),
  }
}
