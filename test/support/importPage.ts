// Drives the import of /explore as a reader does: chooses files, and presses buttons.

import { strToU8, zipSync } from 'fflate'
import type { Locator } from 'playwright-core'
import type { FormPage } from './formPages.ts'

/** A file of the reader. */
export interface GivenFile {
  readonly name: string
  readonly content: string | Uint8Array
}

const bufferOf = ({ content }: GivenFile) => Buffer.from(content)

export async function chooseFile({ page }: FormPage, file: GivenFile): Promise<void> {
  const mimeType = 'application/octet-stream'
  await page.locator('#import-file').setInputFiles({ name: file.name, mimeType, buffer: bufferOf(file) })
}

/** Drops a file on the page. */
export async function dropFile({ page }: FormPage, file: GivenFile): Promise<void> {
  const base64 = bufferOf(file).toString('base64')
  await page.evaluate(`(() => {
    const bytes = Uint8Array.from(atob(${JSON.stringify(base64)}), (letter) => letter.charCodeAt(0))
    const dataTransfer = new DataTransfer()
    dataTransfer.items.add(new File([bytes], ${JSON.stringify(file.name)}))
    for (const type of ['dragover', 'drop']) document.body.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }))
  })()`)
}

/** The select that says where a column goes. */
export function columnChoice({ page }: FormPage, header: string): Locator {
  return page.getByLabel(`${header} goes to`, { exact: true })
}

/** Returns where each column goes, in words. */
export async function meanings({ page }: FormPage): Promise<readonly string[]> {
  const selects = page.locator('table.columns select')
  await selects.first().waitFor()
  return selects.evaluateAll((all) =>
    all.map((one) => (one as unknown as { selectedOptions: { text: string }[] }).selectedOptions[0]?.text ?? ''),
  )
}

/** Returns the rows of a table as texts. */
export async function rowsOf(table: Locator): Promise<string[][]> {
  await table.locator('tr').first().waitFor()
  const rows = await table.locator('tr').all()
  return Promise.all(rows.map((row) => row.locator('th, td').allInnerTexts()))
}

/** A cell of a workbook: a text, a number, or a day. */
type Cell = string | number | Date | null

const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const DAY_MS = 86_400_000
const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')

/** Writes sheets as Excel does. */
export function workbookOf(sheets: Readonly<Record<string, readonly (readonly Cell[])[]>>): Uint8Array {
  const names = Object.keys(sheets)
  const relation = (id: string, type: string, target: string) =>
    `<Relationship Id="${id}" Type="${RELATIONS}/${type}" Target="${target}"/>`
  const files: Record<string, string> = {
    '_rels/.rels': `<Relationships>${relation('r', 'officeDocument', 'xl/workbook.xml')}</Relationships>`,
    'xl/workbook.xml': `<workbook xmlns:r="${RELATIONS}"><sheets>${names
      .map((name, index) => `<sheet name="${escaped(name)}" r:id="s${index}"/>`)
      .join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships>${names
      .map((_, index) => relation(`s${index}`, 'worksheet', `worksheets/sheet${index}.xml`))
      .join('')}${relation('f', 'styles', 'styles.xml')}</Relationships>`,
    'xl/styles.xml': '<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>',
  }
  for (const [index, name] of names.entries()) {
    const rows = (sheets[name] ?? []).map((cells) => `<row>${cells.map(cellXml).join('')}</row>`)
    files[`xl/worksheets/sheet${index}.xml`] = `<worksheet><sheetData>${rows.join('')}</sheetData></worksheet>`
  }
  return zipSync(Object.fromEntries(Object.entries(files).map(([name, text]) => [name, strToU8(text)])))
}

function cellXml(cell: Cell): string {
  if (cell === null) return '<c/>'
  if (typeof cell === 'number') return `<c><v>${cell}</v></c>`
  if (cell instanceof Date) return `<c s="1"><v>${(cell.getTime() - Date.UTC(1899, 11, 30)) / DAY_MS}</v></c>`
  return `<c t="inlineStr"><is><t xml:space="preserve">${escaped(cell)}</t></is></c>`
}
