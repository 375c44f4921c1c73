import { describe, expect, test } from 'bun:test'
import type { NotatedName } from '../../src/model/kindTraits.ts'
import { EncodingFinder } from '../../src/spreadsheets/encoding.ts'
import { type Notation, notationOf, proposeLanguages, readNotated } from '../../src/spreadsheets/notation.ts'

const read = (language: string, kind: NotatedName, cell: string) => readNotated(kind, cell, notationOf(language) as Notation)

describe('a value in the notation of a language', () => {
  test.each([
    ['de', 'date', '01.09.2026', '2026-09-01'],
    ['de', 'date', '1.9.2026', '2026-09-01'],
    ['de', 'date', '01.09.2026 00:00', '2026-09-01'],
    ['de', 'date', '01.09.2026 09:00', null],
    ['de', 'date', '31.02.2026', null],
    ['de', 'date', '01.09.26', null],
    ['de', 'date', '2026-09-01', '2026-09-01'],
    ['de', 'instant', '01.09.2026 9:05', '2026-09-01T09:05:00Z'],
    ['de', 'instant', '01.09.2026 24:00', null],
    ['fr', 'date', '01/09/2026', '2026-09-01'],
    ['nl', 'date', '1-9-2026', '2026-09-01'],
    ['en-GB', 'date', '01/09/2026', '2026-09-01'],
    ['en-US', 'date', '9/1/2026', '2026-09-01'],
    ['en-US', 'instant', '9/1/2026 12:30:05 AM', '2026-09-01T00:30:05Z'],
    ['en-US', 'instant', '9/1/2026 5:30 pm', '2026-09-01T17:30:00Z'],
    ['en-US', 'instant', '9/1/2026 13:30 PM', null],
    ['cs', 'date', '1. 9. 2026', '2026-09-01'],
    ['hu', 'date', '2026. 09. 01.', '2026-09-01'],
    ['sv', 'date', '2026-09-01', '2026-09-01'],
    ['en-GB', 'date', '1-Sep-2026', '2026-09-01'],
    ['en-GB', 'date', '01 SEPT 2026', '2026-09-01'],
    ['en-US', 'date', 'September 1, 2026', '2026-09-01'],
    ['en-US', 'instant', 'Sep 1, 2026 5:30 PM', '2026-09-01T17:30:00Z'],
    ['de', 'date', '1. September 2026', '2026-09-01'],
    ['de', 'date', '1. März 2026', '2026-03-01'],
    ['fr', 'date', '1er févr. 2026', '2026-02-01'],
    ['es', 'date', '1 de septiembre de 2026', '2026-09-01'],
    ['pl', 'date', '1 września 2026', '2026-09-01'],
    ['de', 'date', '1-Sep-26', null],
    ['de', 'date', '31. Februar 2026', null],
    ['de', 'date', '1 Foo 2026', null],
    ['de', 'date', '20260901', '2026-09-01'],
    ['de', 'date', '01092026', null],
    ['de', 'date', '20092012', null],
    ['de', 'decimal', '1.234,5', '1234.5'],
    ['de', 'decimal', '-0,10', '-0.10'],
    ['de', 'decimal', '1.5', null],
    ['de', 'decimal', '1.23,5', null],
    ['de', 'integer', '1.000', '1000'],
    ['de', 'integer', '007', '7'],
    ['de-CH', 'decimal', '1’234.5', '1234.5'],
    ['de-CH', 'decimal', "1'234.5", '1234.5'],
    ['fr', 'decimal', '1\u202f234,5', '1234.5'],
    ['fr', 'decimal', '1 234,5', '1234.5'],
    ['en', 'decimal', '1,234.5', '1234.5'],
    ['en', 'decimal', '1,5', null],
    ['en', 'decimal', '$1,234.50', '1234.50'],
    ['de', 'decimal', '1.234,50 €', '1234.50'],
    ['de', 'decimal', 'EUR 1.234,50', '1234.50'],
    ['pl', 'decimal', '1 234,50 zł', '1234.50'],
    ['en-IN', 'decimal', '₹ 12,34,567.5', '1234567.5'],
    ['en', 'decimal', '(1,234.5)', '-1234.5'],
    ['en', 'decimal', '-$5', '-5'],
    ['en', 'decimal', '$-5', '-5'],
    ['en', 'decimal', '($5)', '-5'],
    ['de', 'decimal', '1.234,5-', '-1234.5'],
    ['de', 'decimal', '+5', '5'],
    ['de', 'decimal', '--5', null],
    ['de', 'decimal', '-(5)', null],
    ['en', 'decimal', '12,34', null],
    ['en', 'decimal', '80%', null],
    ['en', 'decimal', '5 days', null],
    ['en', 'decimal', '$', null],
    ['en', 'decimal', 'EUR', null],
    ['de', 'boolean', 'WAHR', 'true'],
    ['de', 'boolean', 'nein', 'false'],
    ['fr', 'boolean', 'Vrai', 'true'],
    ['nl', 'boolean', 'ONWAAR', 'false'],
    ['tr', 'boolean', 'evet', 'true'],
    ['de', 'boolean', 'yes', 'true'],
    ['de', 'boolean', 'oui', null],
    ['de', 'boolean', ' ', null],
  ] as const)('in %s, the %s %j is read as %j', (language, kind, cell, expected) => {
    expect(read(language, kind, cell)).toBe(expected)
  })

  test.each(['deutsch!', 'xx', 'fa', ''])('%j is not a language with a known notation', (language) => {
    expect(notationOf(language)).toBeNull()
  })

  test.each([
    ['instant', ['01/09/2026'], ['fr or en-GB 2026-09-01', 'en-US 2026-01-09']],
    ['instant', ['01/09/2026', '31/12/2026'], ['fr or en-GB 2026-09-01']],
    ['date', ['01.09.2026'], ['de 2026-09-01']],
    ['date', ['01.09.26'], []],
    ['date', ['1-Sep-2026'], ['en 2026-09-01']],
    ['date', ['1. März 2026'], ['de 2026-03-01']],
    ['date', ['20260901'], ['en 2026-09-01']],
    ['decimal', ['$1,234.50'], ['en-US 1234.50']],
    ['boolean', ['Ja', 'Nee'], ['nl true']],
    ['boolean', ['VRAI'], ['fr true']],
    ['boolean', ['1', '0'], ['en true']],
    ['decimal', ['1.234,5'], ['de 1234.5']],
    ['decimal', ['many'], []],
  ] as const)('for the values of a %s, %j, the languages that can read all of them are proposed', (kind, values, expected) => {
    expect(
      proposeLanguages(kind, values).map(({ language, also, value }) => `${[language, ...also].join(' or ')} ${value}`),
    ).toEqual([...expected])
  })
})

describe('the encoding of a file', () => {
  const found = (bytes: Uint8Array, pieceBytes: number) => {
    const finder = new EncodingFinder()
    for (let at = 0; at < bytes.length; at += pieceBytes) finder.add(bytes.subarray(at, at + pieceBytes))
    return finder.find()
  }
  test.each([
    ['utf-8', new TextEncoder().encode('a;Größe 😀')],
    ['utf-8', new TextEncoder().encode('\ufeffa')],
    ['utf-8', new Uint8Array()],
    ['windows-1252', Uint8Array.of(0x61, 0xfc, 0x3b, 0x80)],
    ['windows-1252', Uint8Array.of(0x61, 0xfc)],
    ['utf-16le', Uint8Array.of(0xff, 0xfe, 0x61, 0)],
    ['utf-16be', Uint8Array.of(0xfe, 0xff, 0, 0x61)],
    [null, Uint8Array.of(0x61, 0x81, 0x3b)],
    [null, Uint8Array.of(0x61, 0, 0xfc, 0)],
  ])('is found by the bytes, whatever the size of the chunks: %p', (expected, bytes) => {
    for (const pieceBytes of [1, 2, 3, 100]) expect(found(bytes, pieceBytes)).toBe(expected)
  })
})
