import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { allBlock, FOLDER, NotPublished, requireShown, speedBlock } from './publishedTables.ts'
import { writePage } from './report/page.ts'
import { fileNameOf, type Results } from './results.ts'

const BEGIN = '<!-- bench:begin -->'
const END = '<!-- bench:end -->'
const BLOCK = new RegExp(`${BEGIN}\n([\\s\\S]*?)${END}`, 'g')
/** The pages that show figures of the run, and what each shows between its markers. */
const PAGES = [
  { path: 'README.md', blockFor: speedBlock },
  { path: 'docs/benchmarks.md', blockFor: allBlock },
]

/**
 * Makes the run of this JSON file the published one: the file and its page lie in bench/published, alone, and the README
 * and docs/benchmarks.md show its figures between two markers. Nothing is written where the run is not fit.
 * @throws NotPublished
 */
export function publish(file: string, root: string): void {
  const results = readResults(file)
  requireShown(results)
  const pages = PAGES.map(({ path, blockFor }) => {
    const page = join(root, path)
    return { page, text: replaceBlock(path, readFileSync(page, 'utf8'), blockFor(results)) }
  })
  const folder = join(root, FOLDER)
  const json = readFileSync(file)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const path = join(folder, fileNameOf(results))
  writeFileSync(`${path}.json`, json)
  writeFileSync(`${path}.html`, writePage(results))
  for (const { page, text } of pages) writeFileSync(page, text)
}

/** The text between the markers; null where there are none. */
export function blockOf(page: string): string | null {
  return [...page.matchAll(BLOCK)][0]?.[1] ?? null
}

function replaceBlock(path: string, page: string, block: string): string {
  if ([...page.matchAll(BLOCK)].length !== 1)
    throw new NotPublished(`${path} must have one line ${BEGIN}, and after it one line ${END}`)
  return page.replace(BLOCK, () => `${BEGIN}\n${block}${END}`)
}

/** The published run; null where there is none. @throws Error where there are several */
export function publishedRun(root: string): Results | null {
  const folder = join(root, FOLDER)
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : []
  if (files.length > 1) throw new Error(`${FOLDER} has ${files.length} runs`)
  return files[0] === undefined ? null : readResults(join(folder, files[0]))
}

function readResults(file: string): Results {
  try {
    const results = JSON.parse(readFileSync(file, 'utf8')) as Results
    if (!Array.isArray(results.scenarios) || typeof results.commit !== 'string') throw new Error('it is no run')
    return results
  } catch (error) {
    throw new NotPublished(`${file} cannot be read as a run: ${(error as Error).message}`)
  }
}
