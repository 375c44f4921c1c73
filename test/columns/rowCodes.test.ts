import { describe, expect, test } from 'bun:test'
import { readLine } from '../../src/columns/copyText.ts'
import { RowCodes } from '../../src/columns/rowCodes.ts'
import {
  boolean,
  date,
  decimal,
  defineEntity,
  identity,
  instant,
  integer,
  oneOf,
  reference,
  text,
} from '../../src/model/entity.ts'
import type { Row } from '../../src/model/sql.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { Random } from '../support/random.ts'
import { storedValue } from '../support/values.ts'

const TIMEOUT_MS = 60_000
const ROWS = 400
/** Another each time; a run is repeated with the one that it printed. */
const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
const random = new Random(SEED)

const thing = defineEntity('Thing', {
  id: identity(),
  label: text(),
  at: instant(),
  amount: decimal(8),
  on: boolean(),
  other: reference('Company'),
  day: date(),
  state: oneOf(['Requested', 'Approved', 'Zone 9']),
  count: integer(),
})

const encoder = new TextEncoder()

/** What the codes say of a row, of its line too; those of a line are made first, so that its texts are new. */
function codesOf(codes: RowCodes, line: Uint8Array, row: Row) {
  const ofLine = codes.codeLine(line, 0, line.length) && [...codes.codes]
  const ofRow = codes.code(row) && [...codes.codes]
  return { ofLine, ofRow }
}

describe('a line of COPY', () => {
  test(
    `as PostgreSQL writes it is the row as PostgreSQL prints it, and has its codes; SEED=${SEED}`,
    async () => {
      const sql = connect(await createDatabase('empty'))
      const kinds = thing.properties.map(({ kind }) => kind)
      const columns = thing.properties.map(({ column }) => `"${column}"`)
      const types = thing.properties.map(({ column, kind }) => `"${column}" ${kind.columnType}`)
      await sql.unsafe(`set time zone 'UTC'; create table thing (${types.join()})`)
      const controls = Array.from({ length: 31 }, (_, code) => String.fromCharCode(code + 1))
      const texts = [...controls, '\\N', '\\', '\\\\t', '\\.', 'a\tb\\nc', '\ufeffa', '\x7f', '\u2028', '😀\n😀']
      for (let added = 0; added < ROWS; added++) {
        const values = kinds.map(({ name }) => (random.chance(15) ? null : storedValue(name, random)))
        if (texts[added]) values[1] = texts[added] as string
        await sql`insert into thing values (${values[0] ?? null}, ${values[1] ?? null}, ${values[2] ?? null}::text::timestamptz,
          ${values[3] ?? null}, ${values[4] === 'true'}, ${values[5] ?? null}, ${values[6] ?? null}::text::date, ${values[7] ?? null}, ${values[8] ?? null})`
      }
      const place = `from thing order by ctid`
      const [rows, lines] = await sql.begin(async (transaction) => {
        await transaction`set local time zone 'UTC'`
        const printed = columns.map((column) => `${column}::text`)
        const rows = await transaction.unsafe(`select ${printed.join()} ${place}`).values()
        const lines: Uint8Array[] = []
        const stream = await transaction.unsafe(`copy (select ${columns.join()} ${place}) to stdout`).readable()
        await new Promise((end, fail) => {
          stream.on('data', (line: Uint8Array) => lines.push(Uint8Array.from(line)))
          stream.on('end', end).on('error', fail)
        })
        return [rows, lines]
      })
      await sql.end()
      expect([rows.length, lines.length]).toEqual([ROWS, ROWS])
      const codes = new RowCodes(thing)
      let odd = 0
      for (const [index, printed] of rows.entries()) {
        const row = printed.map((value: string | null, place: number) =>
          kinds[place]?.name === 'boolean' && value !== null ? value.slice(0, 1) : value,
        )
        const line = (lines[index] as Uint8Array).subarray(0, -1)
        expect(readLine(line, 0, line.length)).toEqual(row)
        const { ofLine, ofRow } = codesOf(codes, line, row)
        expect(ofLine).toEqual(ofRow)
        if (ofRow === false) odd++
        // What has codes is printed from them as it was.
        else expect(codes.printers.map((printer, place) => printer.print(ofRow[place] as number))).toEqual(row)
      }
      expect(odd).toBeGreaterThan(0)
      expect(odd).toBeLessThan(ROWS)
    },
    TIMEOUT_MS,
  )

  test('in the middle of others is read up to its end', () => {
    const bytes = encoder.encode(
      '1\tone\t\\N\t0.50000000\tt\t\\N\t\\N\t\\N\t-3\n2\ttwo\t2024-01-31 09:00:00+00\t\\N\tf\t7\t2000-01-31\tZone 9\t12\n',
    )
    const middle = bytes.indexOf(10)
    const codes = new RowCodes(thing)
    expect(codes.codeLine(bytes, 0, middle)).toBe(true)
    expect([...codes.codes]).toEqual([1, 2, Number.NaN, 0.5, 1, Number.NaN, Number.NaN, 0, -3])
    expect(codes.codeLine(bytes, middle + 1, bytes.length - 1)).toBe(true)
    expect([...codes.codes]).toEqual([2, 3, 760_006_800, Number.NaN, 0, 7, 30, 2, 12])
    expect(readLine(bytes, middle + 1, bytes.length - 1)).toEqual([
      ...['2', 'two', '2024-01-31 09:00:00+00', null, 'f', '7', '2000-01-31', 'Zone 9', '12'],
    ])
  })
})

describe('the codes of values', () => {
  const codes = new RowCodes(thing)
  const at = (name: string) => thing.properties.findIndex((property) => property.name === name)

  test(`are in the order of values, and differ where those do; SEED=${SEED}`, () => {
    for (const property of thing.properties) {
      const { compare, name } = property.kind
      if (!compare) continue
      const place = thing.properties.indexOf(property)
      const printed = Array.from({ length: 200 }, () => printedOf(name))
      const coded = printed.flatMap((text) => {
        const code = codes.find(place, text)
        return code === null ? [] : [{ text, code }]
      })
      for (const one of coded)
        for (const other of coded)
          expect(Math.sign(one.code - other.code) || 0).toBe(Math.sign(compare(one.text, other.text)) || 0)
    }
  })

  test('are none for more digits than a float keeps, and for texts that did not come', () => {
    expect(codes.find(at('Amount'), '12345678.12345678')).toBeNull()
    expect(codes.find(at('Amount'), '1234567.12345678')).toBe(1234567.12345678)
    expect(codes.find(at('Id'), '9007199254740992')).toBeNull()
    expect(codes.find(at('Id'), '9007199254740991')).toBe(2 ** 53 - 1)
    expect(codes.find(at('At'), '0044-03-15 00:00:00+00 BC')).toBe(Date.UTC(-43, 2, 15) / 1_000 - 946_684_800)
    expect(codes.find(at('At'), '2024-01-31 09:00:00+01')).toBeNull()
    expect(codes.find(at('Label'), 'not there')).toBeNull()
    expect(codes.find(at('Label'), '')).toBe(1)
    expect(codes.find(at('Label'), null)).toBe(0)
  })

  test('are looked up without making any', () => {
    const row: Row = ['1', 'new', null, null, 't', null, '2024-01-31', 'Approved', '5']
    expect(codes.look(row)).toBe(false)
    expect(codes.code(row)).toBe(true)
    expect(codes.look(row)).toBe(true)
  })
})

/** What a row can have, as PostgreSQL prints it. */
function printedOf(kind: string): string {
  const value = storedValue(kind, random)
  if (kind === 'boolean') return value.slice(0, 1)
  if (kind !== 'decimal' || value === 'NaN') return value
  const [whole, fraction = ''] = value.split('.')
  return `${whole}.${fraction.padEnd(8, '0')}`
}
