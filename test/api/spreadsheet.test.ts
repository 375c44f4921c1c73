import { beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { leaveOut, temporaryFolder } from '../support/process.ts'
import { cellsOf, ENGLISH, GERMAN, openByLibreOffice } from '../support/spreadsheet.ts'
import { useServer } from '../support/start.ts'

/** Each begins a formula in some cell, where it is not kept from it. */
const FORMULAS = ['=1+1', 'a;=1+1', 'a\t=1+1', 'a|=1+1', 'a\n=1+1', 'a\r\n=1+1', '";=1+1', '"\n=1+1', '\t=1+1', 'a,"\n";=1+1']
const NAMES = ['Müller & Söhne', '=1+1', 'say "no", twice', 'Ærø 日本 😀']

const { path: folder } = temporaryFolder()
const server = useServer()
beforeAll(async () => {
  await server.sql`insert into employee (last_name) select unnest(${NAMES}::text[])`
  await server.sql`insert into company (name) select unnest(${FORMULAS}::text[])`
  await server.sql`insert into absence (status, start, "end", period_days) values ('Approved', '2026-03-01T09:00:00Z', '2026-03-29T23:59:59Z', 2.5)`
})

/** The rows of what LibreOffice makes of the CSV of each list, where it takes this separator and language. */
async function sheetsOf(paths: readonly string[], separator: string, language: number): Promise<string[][]> {
  const names = paths.map((_, index) => join(folder, `list${index}`))
  for (const [index, path] of paths.entries()) {
    const { text } = await server.get(path, { accept: 'text/csv', 'accept-encoding': 'identity' })
    writeFileSync(`${names[index]}.csv`, text)
  }
  return openByLibreOffice(
    names.map((name) => `${name}.csv`),
    separator,
    language,
  )
}

function inLibreOffice() {
  const formulaPaths = ['/Companies?fields=Name,Id&bom=1&excel=1', '/Companies?fields=Name,Id']
  const decimals = (query = '') => `/Absences?bom=1&excel=1&fields=Start,Period.Days${query}`
  /** By separator and language, since LibreOffice opens all files of these at once. */
  const sheets: Record<string, string[][]> = {}
  beforeAll(async () => {
    const plain = ['/Employees?bom=1&excel=1&fields=LastName', '/Absences?bom=1&excel=1&fields=Start,End,Period.Days']
    sheets.english = await sheetsOf([decimals('&locale=en'), ...formulaPaths, ...plain], ',', ENGLISH)
    sheets.german = await sheetsOf([decimals('&locale=de'), ...formulaPaths], ';', GERMAN)
    sheets.mixed = await sheetsOf([decimals()], ',', GERMAN)
  })

  test('a spreadsheet shows umlauts, commas and quotes, and reads date-times as dates, numbers as numbers, and nothing as a formula', () => {
    const [rows = [], [head, row] = []] = (sheets.english ?? []).slice(3).map((sheet) => sheet.map(cellsOf))
    expect(rows.map(([cell]) => cell?.text)).toEqual(['lastName', ...NAMES.map((name) => name.replace(/^=/, "'="))])
    expect(rows.every(([cell]) => cell?.type === 'string')).toBe(true)
    expect(head?.map(({ text }) => text)).toEqual(['start', 'end', 'period.days'])
    expect(row?.map(({ type, date, text }) => [type, date ?? text])).toEqual([
      ['date', '2026-03-01T09:00:00'],
      ['date', '2026-03-29T23:59:59'],
      ['float', '2.5'],
    ])
  })

  // test/model/spreadsheet.test.ts tests other separators.
  test.each(['english', 'german'])(
    'no text becomes a formula in a spreadsheet that splits at commas or semicolons: %s',
    (language) => {
      const formulas = sheets[language]
        ?.slice(1, 3)
        .map((rows) => rows.filter((row) => row.includes('table:formula=')).length) as number[]
      expect(formulas).toEqual([0, expect.any(Number)])
      expect(formulas[1]).toBeGreaterThan(0)
    },
  )

  test.each([
    ['german', 'with locale=de', 'float'],
    ['english', 'with locale=en', 'float'],
    // This is why the parameter locale exists.
    ['mixed', 'in German without locale', 'string'],
  ])('decimals of a list %s %s are of type %s', (name, _, type) => {
    const [, row] = sheets[name]?.[0]?.map(cellsOf) ?? []
    expect(row?.map((cell) => cell.type)).toEqual(['date', type])
    if (type === 'float') expect(Number(row?.[1]?.text.replace(',', '.'))).toBe(2.5)
  })
}

if (Bun.which('soffice')) describe('a CSV opened by LibreOffice', inLibreOffice)
else
  test('a CSV is not opened by LibreOffice, which is not installed', () =>
    leaveOut('CI_REQUIRES_LIBREOFFICE', 'there is no soffice: apt-get install libreoffice-calc-nogui'))
