// CSVs as LibreOffice opens them.
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * Returns the import filter that LibreOffice proposes for a file with a byte order mark: UTF-8, texts in quotes, dates
 * recognized.
 */
const importBy = (separator: string, language: number) => `CSV:${separator.charCodeAt(0)},34,76,1,,${language},false,true`
/** Numbers of languages in LibreOffice's filter. */
export const [ENGLISH, GERMAN] = [1033, 1031]

/** A cell as LibreOffice reads it. */
interface Cell {
  readonly type: string
  /** Value of a date. */
  readonly date: string | null
  readonly text: string
}

/** Opens CSVs of one folder in LibreOffice with this separator and language; returns their rows as markup. */
export async function openByLibreOffice(files: readonly string[], separator: string, language: number): Promise<string[][]> {
  const folder = dirname(files[0] as string)
  const profile = `-env:UserInstallation=file://${join(folder, 'profile')}`
  const words = [profile, '--headless', `--infilter=${importBy(separator, language)}`, '--convert-to', 'fods', '--outdir', folder]
  const program = Bun.spawn(['soffice', ...words, ...files], { stdout: 'ignore', stderr: 'pipe' })
  const complaints = await new Response(program.stderr).text()
  if ((await program.exited) !== 0) throw new Error(`soffice: ${complaints}`)
  return files.map((file) => {
    const sheet = readFileSync(file.replace(/\.csv$/, '.fods'), 'utf8')
    return [...sheet.matchAll(/<table:table-row .*?<\/table:table-row>/gs)].map(([row]) => row)
  })
}

export function cellsOf(row: string): Cell[] {
  return [...row.matchAll(/<table:table-cell([^>]*)>(.*?)<\/table:table-cell>/gs)].flatMap(([, attributes = '', content]) => {
    const cell = {
      type: /office:value-type="(\w+)"/.exec(attributes)?.[1] ?? '',
      date: /office:date-value="([^"]*)"/.exec(attributes)?.[1] ?? null,
      text: textOf(/<text:p>(.*?)<\/text:p>/s.exec(content ?? '')?.[1] ?? ''),
    }
    // Adjacent equal cells are written once, with their number.
    return Array<Cell>(Number(/table:number-columns-repeated="(\d+)"/.exec(attributes)?.[1] ?? 1)).fill(cell)
  })
}

const ENTITIES: Readonly<Record<string, string>> = { '&amp;': '&', '&apos;': "'", '&quot;': '"', '&lt;': '<', '&gt;': '>' }
const textOf = (markup: string) => markup.replaceAll(/&\w+;/g, (entity) => ENTITIES[entity] as string)
