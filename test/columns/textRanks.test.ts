import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import type { Reader } from '../../src/columns/collation.ts'
import type { Texts } from '../../src/columns/textOrder.ts'
import { TextRanks } from '../../src/columns/textRanks.ts'
import { ApiError } from '../../src/errors.ts'
import { Database } from '../../src/execute/database.ts'
import { defineEntity, identity, type Property, text } from '../../src/model/entity.ts'
import type { Statement } from '../../src/model/sql.ts'
import { findMember } from '../../src/parse/names.ts'
import { hostileTexts } from '../support/hostile.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { Random } from '../support/random.ts'
import { firstSeed } from '../support/rounds.ts'

const word = defineEntity('Word', { id: identity(), name: text() })
const name = findMember(word, 'name') as Property

let sql: postgres.Sql
let database: Database
/** Asks the database, and keeps what it was asked. */
let reader: Reader
let asked: Statement[]

beforeAll(async () => {
  const url = await createDatabase('empty')
  sql = connect(url)
  await sql`create table word (id bigint, name text collate "und-x-icu")`
  database = new Database({ url, poolSize: 2, prepare: true })
})
afterAll(() => Promise.all([database.end(), sql.end()]))
beforeEach(() => {
  asked = []
  reader = {
    read(statement) {
      asked.push(statement)
      return database.read(statement)
    },
  }
})

/** Texts with the codes that a dictionary gives them: 1 for the empty one, then as they come. */
class Dictionary implements Texts {
  private readonly texts: string[]

  constructor(texts: readonly string[] = []) {
    this.texts = ['', ...texts]
  }

  get size(): number {
    return 1 + this.texts.length
  }

  text(code: number): string {
    if (this.texts[code - 1] === undefined) throw new Error(`no text has the code ${code}`)
    return this.texts[code - 1] as string
  }

  add(texts: readonly string[]): void {
    this.texts.push(...texts)
  }

  /** In ascending order of their ranks, each of which stands for one text. */
  by(ranks: Int32Array): string[] {
    const ordered: string[] = []
    for (let code = 1; code < ranks.length; code++) ordered[ranks[code] as number] = this.text(code)
    return ordered
  }
}

const PARTS = [
  ...['a', 'A', 'á', 'Á', 'a\u0301', 'ä', 'b', 'B', 'ß', 'ss', 'ﬁ', 'fi', 'i', 'ı', 'İ', 'I', 'z', 'Z', 'æ', 'ñ', 'll'],
  ...[' ', '  ', '\u00a0', '-', '_', "'", '"', '\\', ',', '.', '{', '}', '%', '\n', '\t', '\u200b', '\ufeff', '\u00ad'],
  ...['0', '1', '2', '9', '10', '09', '100', '٣', '½', '²', 'β', 'Β', 'σ', 'ς', 'ж', 'Ж', 'ё', 'א', 'ب', 'क', 'ไ', 'ก'],
  ...['李', '王', '한', '글', 'が', 'か\u3099', 'ｶ', 'カ', '😀', '👩‍🚀', '🇩🇪', '\u{10ffff}', '\uffff', '\u{1d400}'],
  ...['null', 'Mc', 'O’'],
]

/** `count` texts that all differ, none of them empty, in no order. */
function randomTexts(random: Random, count: number): string[] {
  const texts = new Set<string>(hostileTexts.filter((text) => !text.includes('\0')).slice(0, count))
  while (texts.size < count) texts.add(random.pick(PARTS) + random.times(6, () => random.pick(PARTS)).join(''))
  return [...texts]
    .map((text) => [random.below(2 ** 30), text] as const)
    .sort(([one], [other]) => one - other)
    .map(([, text]) => text)
}

/** Ranks of these texts, as they are extended once. */
async function rankedOf(texts: readonly string[]) {
  const dictionary = new Dictionary(texts)
  const ranks = new TextRanks(word, name, dictionary, reader)
  await ranks.extend()
  return { dictionary, ranks }
}

/** The table's only rows are these texts. */
async function fill(texts: readonly string[]): Promise<void> {
  await sql`truncate word`
  await sql`insert into word (name) select unnest(${texts}::text[])`
}

const ordered = async (): Promise<string[]> => (await sql`select name from word order by name`).map((row) => row.name)

/** How many texts of the table are less than each operand. */
async function bounds(operands: readonly string[]): Promise<number[]> {
  const rows = await sql`
    select (select count(*)::int from word where name < operand) as count
    from unnest(${operands}::text[]) with ordinality as given(operand, place) order by place`
  return rows.map((row) => row.count)
}

describe('of more texts than one statement takes', () => {
  test('the order is the same, and no statement is large', async () => {
    const random = new Random(firstSeed)
    const texts = randomTexts(random, 14_000)
    await fill(['', ...texts])
    const { dictionary, ranks } = await rankedOf(texts.slice(0, 13_000))
    for (const from of [13_000, 13_001, 13_040, 13_500]) {
      dictionary.add(texts.slice(dictionary.size - 2, from))
      await ranks.extend()
    }
    dictionary.add(texts.slice(dictionary.size - 2))
    await ranks.extend()
    expect(dictionary.by(ranks.ranks)).toEqual(await ordered())
    expect(asked.length).toBeGreaterThan(10)
    for (const { values } of asked)
      for (const value of values) {
        expect(elements([value])).toBeLessThanOrEqual(2_048)
        expect(value?.length).toBeLessThan(150_000)
      }
  })

  test('a million are ordered, more are not', async () => {
    const ranks = new TextRanks(word, name, { size: 1_000_001, text: () => 'unasked' }, reader)
    await ranks.extend()
    expect(ranks.ranks.length).toBe(1)
    expect(asked).toEqual([])
  })

  test('texts that a collation calls equal are refused', async () => {
    await sql`create collation of_letters (provider = icu, locale = 'und-u-ks-level1', deterministic = false)`
    await sql`create table letter (name text collate of_letters)`
    const letter = defineEntity('Letter', { id: identity(), name: text() })
    const texts = ['a', 'A'].map((letter) => letter.repeat(33_000))
    const ranks = new TextRanks(letter, findMember(letter, 'name') as Property, new Dictionary(texts), reader)
    await expect(ranks.extend()).rejects.toThrow('the collation of a column calls different texts equal')
  })
})

test('the bound of an operand takes one statement where ICU here orders texts alike, and none where the text is there', async () => {
  const names = Array.from({ length: 1_200 }, (_, index) => `Name ${10_000 + 7 * index}`)
  const { ranks } = await rankedOf(names)
  asked = []
  for (const text of names.slice(0, 100)) await ranks.boundOf(text)
  expect(asked).toEqual([])
  for (let number = 0; number < 100; number++) await ranks.boundOf(`Name ${10_001 + 77 * number}`)
  expect(asked.length).toBe(100)
  for (const { values } of asked) expect(elements(values)).toBeLessThanOrEqual(17)
})

describe('at once', () => {
  const texts = randomTexts(new Random(firstSeed), 600)

  test('those who ask for the same share it, and texts that come meanwhile are waited for', async () => {
    await fill(['', ...texts])
    const dictionary = new Dictionary(texts.slice(0, 300))
    const ranks = new TextRanks(word, name, dictionary, reader)
    const first = [ranks.extend(), ranks.extend(), ranks.extend()]
    dictionary.add(texts.slice(300, 500))
    const second = [ranks.extend(), ranks.extend()]
    dictionary.add(texts.slice(500))
    await Promise.all(first)
    expect(ranks.ranks.length).toBeGreaterThanOrEqual(302)
    await Promise.all(second)
    expect(ranks.ranks.length).toBeGreaterThanOrEqual(502)
    await ranks.extend()
    expect(dictionary.by(ranks.ranks)).toEqual(await ordered())
    expect(asked.length).toBeLessThanOrEqual(3)
    asked = []
    const found = await Promise.all(Array.from({ length: 50 }, () => ranks.boundOf('Mum')))
    expect(new Set(found)).toEqual(new Set(await bounds(['Mum'])))
    expect(asked.length).toBe(1)
  })

  test('a bound that is found while texts come is that of the ranks there are then', async () => {
    await fill(['', ...texts])
    const { dictionary, ranks } = await rankedOf(texts.slice(0, 100))
    const operands = texts.slice(0, 40).map((text) => `${text}~`)
    const expected = await bounds(operands)
    let isThere = false
    const found = operands.map(async (operand) => {
      await ranks.boundOf(operand)
      return isThere ? ranks.knownBound(operand) : null
    })
    dictionary.add(texts.slice(100))
    await ranks.extend()
    isThere = true
    for (const [index, bound] of (await Promise.all(found)).entries()) expect(bound ?? expected[index]).toBe(expected[index])
    expect(await Promise.all(operands.map((operand) => ranks.boundOf(operand)))).toEqual(expected)
  })

  test('more than a hundred operands are refused', async () => {
    const { ranks } = await rankedOf(texts)
    const found = await Promise.allSettled(Array.from({ length: 150 }, (_, index) => ranks.boundOf(`Mum ${index}`)))
    expect(found.filter(({ status }) => status === 'fulfilled')).toHaveLength(100)
    expect(found.findIndex(({ status }) => status === 'rejected')).toBe(100)
    expect(found.at(-1)).toMatchObject({ reason: { code: 'ServiceUnavailable' } })
    expect(await ranks.boundOf('Mum 149')).toBeGreaterThan(0)
  })
})

test('an error of the database is passed on, changes nothing, and is forgotten', async () => {
  const texts = randomTexts(new Random(firstSeed), 300)
  await fill(['', ...texts])
  const ended = new Database({ url: await createDatabase('empty'), poolSize: 1, prepare: true })
  await ended.end()
  let of: Reader = ended
  const dictionary = new Dictionary(texts)
  const ranks = new TextRanks(word, name, dictionary, { read: (statement) => of.read(statement) })
  const none = ranks.ranks
  const failed = await Promise.allSettled([ranks.extend(), ranks.extend()])
  for (const result of failed) expect(result).toMatchObject({ status: 'rejected', reason: { code: 'ServiceUnavailable' } })
  expect((failed[0] as PromiseRejectedResult).reason).toBeInstanceOf(ApiError)
  expect(ranks.ranks).toBe(none)
  of = database
  await ranks.extend()
  expect(dictionary.by(ranks.ranks)).toEqual(await ordered())
  const there = ranks.ranks
  of = ended
  dictionary.add(['Mum'])
  expect(ranks.extend()).rejects.toBeInstanceOf(ApiError)
  expect(ranks.boundOf('Mummy')).rejects.toBeInstanceOf(ApiError)
  await Promise.allSettled([ranks.extend(), ranks.boundOf('Mummy')])
  expect(ranks.ranks).toBe(there)
  expect(ranks.knownBound('Mummy')).toBeNull()
  of = database
  expect([await ranks.boundOf('Mummy')]).toEqual(await bounds(['Mummy']))
  await ranks.extend()
  expect(ranks.ranks.length).toBe(there.length + 1)
  expect(await ranks.boundOf('Mummy')).toBe(((await bounds(['Mummy']))[0] as number) + 1)
})

const elements = (values: Statement['values']) => values.reduce((count, value) => count + (value ?? '').split('","').length, 0)
