import { describe, expect, test } from 'bun:test'
import { csvRecords } from '../../src/spreadsheets/csvRecords.ts'
import { doubtfulWord } from '../../src/spreadsheets/encoding.ts'
import { placeholderHint } from '../../src/spreadsheets/placeholders.ts'
import { Table } from '../../src/spreadsheets/table.ts'

const KNOWN = ['number', 'name', 'manager']

/** Returns the header, and the first cells of rows of the table and of those below it. */
async function tableOf(csv: string, place: { headerLine?: number; lastLine?: number } = {}) {
  const records = csvRecords(new Response(csv).body?.pipeThrough(new TextDecoderStream()) as AsyncIterable<string>)
  const table = await Table.open(records, { headerLine: null, lastLine: null, ...place }, (name) => KNOWN.includes(name))
  if (table === null) return null
  const rows = await Array.fromAsync(table.rows())
  const firstOf = (isBelow: boolean) =>
    rows.filter(({ footer }) => (footer !== null) === isBelow).map(({ record }) => record.cells[0])
  return { header: table.header.cells, line: table.header.line, rows: firstOf(false), below: firstOf(true) }
}

describe('the header of a table is', () => {
  test.each([
    ['the first row', 'number,name\n1,A\n', 1, ['number', 'name']],
    ['the row below a title', 'People of 2026\nnumber,name,x\n1,A,B\n', 2, ['number', 'name', 'x']],
    [
      'the row below a title with separators',
      'Stand: 01.09.2026;;\n;;\nNr;Vorname;Nachname\n1;A;B\n',
      3,
      ['Nr', 'Vorname', 'Nachname'],
    ],
    ['the row below a comment', '#TYPE Person\n"number","name","x"\n"1","A","B"\n', 2, ['number', 'name', 'x']],
    ['the row with most known names', 'a,b,c\nnumber,name,c\n1,A,B\n', 2, ['number', 'name', 'c']],
    ['not a row with one known word', 'Rolle,Ort\nmanager,Ulm\n', 1, ['Rolle', 'Ort']],
    ['the row of a single column', 'Adresse\n"Ring 1, Ulm"\nRing 2, Ulm\n', 1, ['Adresse']],
    [
      'two rows, of which the first has groups',
      'number,Leave,,Team\n,From,To,\n1,2,3,4\n',
      1,
      ['number', 'Leave From', 'Leave To', 'Team'],
    ],
    ['one row with a column without a name', ',name,x\n0,A,B\n', 1, [null, 'name', 'x']],
  ] as const)('%s', async (_, csv, line, header) => {
    expect(await tableOf(csv)).toMatchObject({ line, header: [...header] })
  })

  test('the row that the user names, whatever is above it', async () => {
    expect(await tableOf('number,name\nNr,Vorname\n1,A\n', { headerLine: 2 })).toMatchObject({
      header: ['Nr', 'Vorname'],
      rows: ['1'],
    })
  })
})

describe('the separator of a CSV is', () => {
  test.each([
    ['a semicolon if numbers have decimal commas', 'a;b;c\n1,5;2,5;3,5\n1,5;2,5;3,5\n', ['a', 'b', 'c']],
    ['a comma if a text has semicolons', 'a,b\nx;y;z,1\nx,2\n', ['a', 'b']],
    ['a comma if a blank follows it', 'a, b, c\n1, 2, 3\n', ['a', ' b', ' c']],
    ['a bar', 'a|b\n1|2\n', ['a', 'b']],
    ['a semicolon below a title with a comma', 'Muster GmbH, Ulm\na;b;c\n1;2;3\n4;5;6\n', ['a', 'b', 'c']],
    ['none in a column of names', 'name\nMüller, Jürgen\nWeiß, Zoë\n', ['name']],
  ])('%s', async (_, csv, header) => {
    expect((await tableOf(csv))?.header).toEqual(header)
  })
})

describe('below a table,', () => {
  const rows = '1,A,x,y\n2,B,x,y\n3,C,x,y\n'
  test.each([
    ['a total is left out', `${rows}Total,,,99\n`, ['Total']],
    ['a total in German is left out after an empty line', `${rows}\nSumme: 3,,,\n`, ['Summe: 3']],
    ['a note is left out', `${rows}* without contractors,,,\n`, ['* without contractors']],
    ['a total and a note are left out', `${rows}Total,,,99\nPrinted on 1 September,,,\n`, ['Total', 'Printed on 1 September']],
    ['a row with one number is kept', `${rows}4,,,\n`, []],
    ['a complete row that begins with Total is kept', `${rows}Total,D,x,y\n`, []],
    ['a person whose name begins like a total is kept', `${rows}Totalina,,x,\nSummerfield,,,\n`, []],
  ])('%s', async (_, below, expected) => {
    const table = await tableOf(`number,name,b,c\n${below}`)
    expect(table?.below).toEqual(expected)
    expect(table?.rows.slice(0, 3)).toEqual(['1', '2', '3'])
  })

  test('no row is reported as left out if the user names the last line', async () => {
    const csv = `number,name,b,c\n${rows}Total,,,9\n`
    expect(await tableOf(csv, { lastLine: 4 })).toMatchObject({ rows: ['1', '2', '3'], below: [] })
    expect(await tableOf(csv, { lastLine: 5 })).toMatchObject({ rows: ['1', '2', '3', 'Total'], below: [] })
  })
})

describe('a word of a file that is read as windows-1252', () => {
  test.each([
    ['Micha³', 'windows-1250 Michał'],
    ['£ukasz', 'windows-1250 Łukasz'],
    ['JŸrgen', 'macintosh Jürgen'],
    ['RenŽ', 'macintosh René'],
    ['Èâàíîâ', 'windows-1251 Иванов'],
  ])('%s is doubtful', (word, expected) => {
    const { others = [] } = doubtfulWord(`1;${word};x`) ?? {}
    expect(others.map((one) => `${one.encoding} ${one.word}`)).toContain(expected)
  })

  test.each(['Jürgen Größe', 'L’Œuvre', 'Société 5 m² £5 5€', 'Ærøskøbing', '«Crédit» ¿Qué?', 'GRÖSSE ÄÖÜ', 'Bäckerstraße 5½'])(
    '%s is not doubtful',
    (text) => {
      expect(doubtfulWord(text)).toBeNull()
    },
  )
})

test('placeholderHint names the options that read placeholders such as N/A as no values', () => {
  expect(placeholderHint(['N/A', 'x', '-', 'N/A'])).toBe("--empty N/A --empty '-' read them as no values")
  expect(placeholderHint(['NULL'])).toBe('--empty NULL reads it as no value')
  expect(placeholderHint(['Nan', 'Null', 'ND', '1-2'])).toBeNull()
})
