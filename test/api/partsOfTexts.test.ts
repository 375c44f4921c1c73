import { beforeAll, describe, expect, test } from 'bun:test'
import { expectAll } from '../support/cases.ts'
import { untilInMemory } from '../support/inMemory.ts'
import { createRows, listed } from '../support/rows.ts'
import { useServer } from '../support/start.ts'

// test/model/fold.test.ts tests how texts are folded.

const NAMES = [
  ...['임', '인', '이', 'ガブ', 'カフ', 'Yıldız', 'İnci', 'Groß', 'Łukasz', 'Søren', 'Đặng', 'Ægir', 'Þór', 'Öberg', 'O\u0308z'],
  ...['Kαρσος', '100%', '', null],
]

const memory = useServer()
const plain = useServer(() => ({ databaseUrl: memory.databaseUrl, environment: { MEMORY_MB: '0' } }))
beforeAll(async () => {
  await createRows(
    memory,
    '/Employees',
    NAMES.map((LastName) => ({ LastName })),
  )
  await untilInMemory(memory, 'employee', '/Employees?LastName[contains]=o')
})

const target = (operator: string, value: string) => `/Employees?LastName[${operator}]=${encodeURIComponent(value)}`

describe('D72: parts of texts', () => {
  test.each([
    ['begins', '이', ['이']],
    ['begins', 'ㅇ', []],
    ['contains', '\u110b\u1175\u11b7', ['임']],
    ['contains', 'カ', ['カフ']],
    ['contains', 'カ\u3099', ['ガブ']],
    ['contains', 'フ', ['カフ']],
    ['begins', 'YILDIZ', ['Yıldız']],
    ['begins', 'yildiz', ['Yıldız']],
    ['begins', 'inci', ['İnci']],
    ['begins', 'ıNCİ', ['İnci']],
    ['contains', 'GROSS', ['Groß']],
    ['contains', 'groẞ', ['Groß']],
    ['begins', 'lukasz', ['Łukasz']],
    ['begins', 'soren', ['Søren']],
    ['begins', 'dang', ['Đặng']],
    ['begins', 'aegir', ['Ægir']],
    ['begins', 'thor', ['Þór']],
    ['begins', 'o', ['Öberg', 'O\u0308z']],
    ['contains', 'Ö', ['Groß', 'Søren', 'Þór', 'Öberg', 'O\u0308z']],
    ['contains', 'ΡΣΟΣ', ['Kαρσος']],
    ['contains', '%', ['100%']],
    ['contains', '\u0308%', ['100%']],
  ])('[%s]=%s finds the same rows in memory and in PostgreSQL', async (operator, value, names) => {
    const expected = NAMES.filter((name) => name !== null && names.includes(name))
    for (const server of [plain, memory]) expect(await listed(server, target(operator, value), 'lastName')).toEqual(expected)
  })

  test('[begins] and [contains] with a value that has only accents are 400, as with an empty value', async () => {
    const requests = ['', '\u0301', '\u0323\u0301', '\u0344', '\u034f'].flatMap((value) =>
      ['begins', 'contains'].map((operator) => [`GET ${target(operator, value)}`] as const),
    )
    for (const server of [plain, memory]) await expectAll(server, '400 InvalidFilter LastName', requests)
    const { body } = await plain.get(target('contains', '\u0301'))
    expect(body.Error.Message).toBe('LastName needs more than accents behind [contains]: they do not count.')
  })
})
