import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { strToU8, unzipSync, zipSync } from 'fflate'
import { numberFormatOf, numberText, serialText } from '../../src/spreadsheets/numberFormats.ts'
import { COLUMNS_MAX, readSheet } from '../../src/spreadsheets/sheet.ts'
import { FILE_BYTES_MAX, openWorkbook, UNPACKED_BYTES_MAX, WorkbookFault } from '../../src/spreadsheets/workbook.ts'
import { Random } from '../support/random.ts'
import { rounds } from '../support/rounds.ts'

const ROUNDS = rounds(500, 20_000)
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'

interface Given {
  readonly sheets?: Readonly<Record<string, string>>
  readonly texts?: string
  readonly styles?: string
  readonly properties?: string
}

/** A workbook of the rows of its sheets in XML. */
function workbookOf({ sheets = {}, texts = '', styles = '', properties = '' }: Given): Uint8Array {
  const names = Object.keys(sheets)
  const relation = (id: string, type: string, target: string) =>
    `<Relationship Id="${id}" Type="${RELATIONS}/${type}" Target="${target}"/>`
  const files: Record<string, string> = {
    '_rels/.rels': `<Relationships>${relation('r', 'officeDocument', 'xl/workbook.xml')}</Relationships>`,
    'xl/workbook.xml': `<workbook xmlns:r="${RELATIONS}"><workbookPr ${properties}/><sheets>${names
      .map(
        (name, index) =>
          `<sheet name="${name.replace('!', '')}" r:id="s${index}" ${name.endsWith('!') ? 'state="hidden"' : ''}/>`,
      )
      .join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships>${names
      .map((_, index) => relation(`s${index}`, 'worksheet', `/xl/worksheets/sheet${index}.xml`))
      .join('')}${relation('t', 'sharedStrings', 'sharedStrings.xml')}${relation('f', 'styles', './styles.xml')}</Relationships>`,
    'xl/sharedStrings.xml': `<sst>${texts}</sst>`,
    'xl/styles.xml': `<styleSheet>${styles}</styleSheet>`,
  }
  for (const [index, name] of names.entries())
    files[`xl/worksheets/sheet${index}.xml`] = `<worksheet><sheetData>${sheets[name]}</sheetData></worksheet>`
  return zipSync(Object.fromEntries(Object.entries(files).map(([name, text]) => [name, strToU8(text)])))
}

const cellsOf = (given: Given, name: string | null = null) =>
  readSheet(openWorkbook(workbookOf(given)), name).map(({ row, cells }) => [row, ...cells])
const faultOf = (run: () => unknown): WorkbookFault => {
  try {
    run()
  } catch (error) {
    return error as WorkbookFault
  }
  throw new Error('there is no fault')
}

describe('cells of an .xlsx', () => {
  test('are read if they have shared texts (without phonetic readings), inline texts, numbers, booleans or results of formulas', () => {
    const texts = '<si><t>A &amp; B</t></si><si><r><t xml:space="preserve">two </t></r><r><t>runs</t></r><rPh><t>X</t></rPh></si>'
    const row = [
      '<c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="inlineStr"><is><t>in_x000A_line &#x1F600;</t></is></c>',
      '<c r="D1"><v>0.30000000000000004</v></c><c r="E1" t="b"><v>1</v></c><c r="F1" t="str"><f>A1</f><v>text</v></c>',
      '<c r="H1"><f>1+1</f><v>2</v></c><c r="I1" t="d"><v>2026-09-01T09:00:00</v></c>',
    ].join('')
    expect(cellsOf({ sheets: { One: `<row r="1">${row}</row>` }, texts })).toEqual([
      [1, 'A & B', 'two runs', 'in\nline 😀', '0.3', 'true', 'text', null, '2', '2026-09-01T09:00:00Z'],
    ])
  })

  test('are read in order if they have no references, and rows keep their numbers', () => {
    const rows =
      '<row><c t="str"><v>a</v></c><c/><c t="str"><v>b</v></c></row><row r="7"><c><v>1</v></c></row><row><c><v>2</v></c></row>'
    expect(cellsOf({ sheets: { One: rows } })).toEqual([
      [1, 'a', null, 'b'],
      [7, '1'],
      [8, '2'],
    ])
  })

  test('are read from XML whose element names have a prefix', () => {
    const bytes = zipSync({
      'xl/workbook.xml': strToU8(
        '<x:workbook xmlns:x="m" xmlns:r="r"><x:sheets><x:sheet name="S" r:id="a"/></x:sheets></x:workbook>',
      ),
      'xl/_rels/workbook.xml.rels': strToU8(
        '<Relationships><Relationship Id="a" Type="x/worksheet" Target="s.xml"/></Relationships>',
      ),
      'xl/s.xml': strToU8('<x:worksheet xmlns:x="m"><x:row r="1"><x:c r="B1"><x:v>5</x:v></x:c></x:row></x:worksheet>'),
    })
    expect(readSheet(openWorkbook(bytes), null)).toMatchObject([{ cells: [null, '5'] }])
  })

  test('are days if their format is a date, counted from 1900 or 1904, and keep the leading zeros of the format 00000', () => {
    const styles =
      '<numFmts><numFmt numFmtId="164" formatCode="00000"/></numFmts><cellStyleXfs><xf numFmtId="9"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/></cellXfs>'
    const rows = '<row r="1"><c s="1"><v>46266</v></c><c s="2"><v>17</v></c><c><v>46266</v></c></row>'
    expect(cellsOf({ sheets: { One: rows }, styles })).toEqual([[1, '2026-09-01', '00017', '46266']])
    expect(cellsOf({ sheets: { One: rows }, styles, properties: 'date1904="1"' })).toEqual([[1, '2030-09-02', '00017', '46266']])
  })

  test.each([
    ['a day by its format', '<c s="1" t="d"><v>2026-12-03T00:00:00</v></c>', '2026-12-03'],
    ['a day with fractions of seconds', '<c s="1" t="d"><v>2026-12-03T00:00:00.000</v></c>', '2026-12-03'],
    ['a day without a format', '<c t="d"><v>2026-12-03T00:00</v></c>', '2026-12-03'],
    ['a time if the format shows hours', '<c s="2" t="d"><v>2026-12-03T00:00:00</v></c>', '2026-12-03T00:00:00Z'],
  ])('of the type d show midnight as %s', (_, cell, expected) => {
    const styles = '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/></cellXfs>'
    expect(cellsOf({ sheets: { One: `<row r="1">${cell}</row>` }, styles })).toEqual([[1, expected]])
  })

  test.each([
    ['<c r="C5" t="e"><v>#N/A</v></c>', 2, 'is the error of a formula', '#N/A'],
    ['<c r="AB5"><f>A1</f></c>', 27, 'is a formula without its value: open the file in a spreadsheet, and save it', undefined],
    ['<c r="C5"><v>1e999</v></c>', 2, 'is no number', '1e999'],
  ])('with a fault leave the other cells of the row readable: %s', (cell, index, message, value) => {
    const row = `<row r="5"><c r="A5" t="str"><v>a</v></c>${cell}</row>`
    const [read] = readSheet(openWorkbook(workbookOf({ sheets: { One: row } })), null)
    expect([read?.cells[0], read?.cells[index], read?.faults.get(index)]).toEqual(['a', null, { message, value }])
  })

  test('in too many columns are a fault with the number of their row', () => {
    const fault = faultOf(() => cellsOf({ sheets: { One: '<row r="5"><c r="XFD5"><v>1</v></c></row>' } }))
    expect([fault.row, fault.message]).toEqual([5, `it has more than ${COLUMNS_MAX} columns`])
  })
})

describe('sheets of an .xlsx', () => {
  const row = (text: string) => `<row><c t="str"><v>${text}</v></c></row>`

  test('the only visible sheet with rows is read, or the sheet that is named', () => {
    const sheets = { Empty: '', One: row('one'), 'Hidden!': row('hidden') }
    expect(cellsOf({ sheets })).toEqual([[1, 'one']])
    expect(cellsOf({ sheets }, 'hidden')).toEqual([[1, 'hidden']])
  })

  test('several sheets with rows, and a name that no sheet has, are faults that list the names', () => {
    const sheets = { One: row('1'), Two: row('2'), Empty: '' }
    expect(() => cellsOf({ sheets })).toThrow('it has several sheets: name one of them by --sheet: "One" (1); "Two" (2)')
    expect(() => cellsOf({ sheets }, 'Three')).toThrow('it has no sheet "Three"; there are "One", "Two", "Empty"')
  })
})

describe('a file that is no workbook, or too large', () => {
  test('is refused with a message that says what is wrong', () => {
    const zip = zipSync({ 'a.txt': strToU8('a') })
    expect(() => openWorkbook(zip)).toThrow('this is another zip')
    expect(() => openWorkbook(Uint8Array.of(0xd0, 0xcf, 0x11, 0xe0))).toThrow('it is an .xls, or has a password')
    expect(() => openWorkbook(strToU8('name\n'))).toThrow('it is no .xlsx')
    expect(() => openWorkbook(zip.subarray(0, zip.length - 9))).toThrow('it is damaged')
    const large = new Uint8Array(FILE_BYTES_MAX + 1)
    large.set(zip)
    expect(() => openWorkbook(large)).toThrow('it has more than 32 MB')
  })

  test('XML that is not well-formed is a fault, and entities of a document type are not expanded', () => {
    expect(() => cellsOf({ sheets: { One: '<row><c></row>' } })).toThrow('it is damaged')
    expect(cellsOf({ sheets: { One: '<row><c t="str"><v>&lol;</v></c></row>' } })).toEqual([[1, '&lol;']])
  })

  test('a small file that unpacks to a large one is refused before it fills the memory', () => {
    const half = new Uint8Array(UNPACKED_BYTES_MAX / 2 + 1)
    const bomb = zipSync({ 'xl/workbook.xml': half, 'xl/styles.xml': half })
    expect(bomb.length).toBeLessThan(1024 * 1024)
    Bun.gc(true)
    const before = process.memoryUsage().rss
    expect(() => openWorkbook(bomb)).toThrow('it unpacks to more than 256 MB')
    expect(process.memoryUsage().rss - before).toBeLessThan(UNPACKED_BYTES_MAX * 0.75)
  })

  test('a file in the zip that is larger than the directory of the zip says is refused', () => {
    const bytes = zipSync({ 'xl/workbook.xml': new Uint8Array(5_000_000).map((_, at) => (at * 7919) % 251) }, { level: 0 })
    const directory = bytes.findLastIndex((byte, at) => byte === 0x50 && bytes[at + 1] === 0x4b && bytes[at + 2] === 0x01)
    // The size of the content in the directory of the zip.
    new DataView(bytes.buffer, bytes.byteOffset).setUint32(directory + 24, 10, true)
    expect(() => openWorkbook(bytes)).toThrow('it is damaged')
  })
})

test('a randomly damaged workbook is either read or refused with WorkbookFault: it throws no other error', () => {
  const random = new Random(64)
  const folder = join(import.meta.dir, '../cli/files')
  const samples = ['german.xlsx', 'sheets.xlsx', 'errors.xlsx'].map((name) => new Uint8Array(readFileSync(join(folder, name))))
  let refused = 0
  for (let round = 0; round < ROUNDS; round++) {
    const parts = unzipSync(random.pick(samples))
    const part = parts[random.pick(Object.keys(parts))] as Uint8Array
    for (let damage = random.below(5); damage >= 0; damage--) part[random.below(part.length)] = random.below(128)
    const bytes = zipSync(parts)
    if (random.chance(3)) bytes[random.below(bytes.length)] = random.below(256)
    try {
      const workbook = openWorkbook(bytes)
      for (const { name } of workbook.sheets) readSheet(workbook, name)
    } catch (error) {
      expect(error).toBeInstanceOf(WorkbookFault)
      refused++
    }
  }
  expect(refused).toBeGreaterThan(ROUNDS / 20)
  expect(refused).toBeLessThan(ROUNDS)
})

describe('numbers of a spreadsheet', () => {
  test.each([
    ['14', undefined, 'day'],
    ['21', undefined, 'time'],
    ['22', undefined, 'dayAndTime'],
    ['2', undefined, { digits: 1 }],
    ['164', 'dd\\.mm\\.yyyy', 'day'],
    ['164', '[$-407]d\\. mmmm yyyy;@', 'day'],
    ['164', 'yyyy"年"m"月"', 'day'],
    ['164', 'm/yy', 'day'],
    ['164', 'mmm', 'day'],
    ['164', '[h]:mm', 'time'],
    ['164', 'dd\\.mm\\.yyyy\\ hh:mm', 'dayAndTime'],
    ['164', '#,##0.00 "day"', { digits: 1 }],
    ['164', '[Red]General', { digits: 1 }],
    ['164', '0000', { digits: 4 }],
    ['164', '0.00', { digits: 1 }],
  ] as const)('the number format %s with the code %j is %j', (id, code, expected) => {
    expect(numberFormatOf(Number(id), code)).toEqual(expected)
  })

  test.each([
    ['1', '1'],
    ['12345678901234567', '12345678901234600'],
    ['1E-7', '0.0000001'],
    ['-1.5E+22', '-15000000000000000000000'],
    ['2.4500000000000002', '2.45'],
    ['', null],
    ['x', null],
  ])('the number %s is shown as %p', (text, expected) => {
    expect(numberText(text)).toBe(expected)
  })

  test.each([
    [1, '1900-01-01'],
    [59, '1900-02-28'],
    [60, null],
    [61, '1900-03-01'],
    [46266.999999, '2026-09-02'],
    [46266.5, '2026-09-01T12:00:00Z'],
    [2958465, '9999-12-31'],
    [2958466, null],
    [-1, null],
    [Number.NaN, null],
  ])('the day with the number %d is %p', (serial, expected) => {
    expect(serialText(serial, 'day', false)).toBe(expected)
  })

  test('midnight is a date-time if the format shows times, and otherwise a day', () => {
    expect(serialText(46266, 'dayAndTime', false)).toBe('2026-09-01T00:00:00Z')
    expect(serialText(46266, 'day', false)).toBe('2026-09-01')
  })
})
