import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import type { Reader } from '../../src/columns/collation.ts'
import { Dictionary } from '../../src/columns/dictionary.ts'
import { type ReadOrder, TextRanks, type TextRanksParts } from '../../src/columns/textRanks.ts'
import { ApiError } from '../../src/errors.ts'
import { Database } from '../../src/execute/database.ts'
import { defineEntity, identity, type Property, text } from '../../src/model/entity.ts'
import type { Statement } from '../../src/model/sql.ts'
import { findMember } from '../../src/parse/names.ts'
import { hostileTexts } from '../support/hostile.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { Random } from '../support/random.ts'
import { firstSeed } from '../support/rounds.ts'
import { textStream } from '../support/textStream.ts'

const word = defineEntity('Word', { id: identity(), name: text() })

let sql: postgres.Sql
let database: Database
/** Reads from PostgreSQL, and stores the statements in `asked`. */
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

const PARTS = [
  ...['a', 'A', 'á', 'Á', 'a\u0301', 'ä', 'b', 'B', 'ß', 'ss', 'ﬁ', 'fi', 'i', 'ı', 'İ', 'I', 'z', 'Z', 'æ', 'ñ', 'll'],
  ...[' ', '  ', '\u00a0', '-', '_', "'", '"', '\\', ',', '.', '{', '}', '%', '\n', '\t', '\u200b', '\ufeff', '\u00ad'],
  ...['0', '1', '2', '9', '10', '09', '100', '٣', '½', '²', 'β', 'Β', 'σ', 'ς', 'ж', 'Ж', 'ё', 'א', 'ب', 'क', 'ไ', 'ก'],
  ...['李', '王', '한', '글', 'が', 'か\u3099', 'ｶ', 'カ', '😀', '👩‍🚀', '🇩🇪', '\u{10ffff}', '\uffff', '\u{1d400}'],
  ...['null', 'Mc', 'O’'],
]

/** Returns `count` different texts in random order, without the empty text. */
function randomTexts(random: Random, count: number): string[] {
  const texts = new Set<string>(hostileTexts.filter((text) => !text.includes('\0')).slice(0, count))
  while (texts.size < count) texts.add(random.pick(PARTS) + random.times(6, () => random.pick(PARTS)).join(''))
  return [...texts]
    .map((text) => [random.below(2 ** 30), text] as const)
    .sort(([one], [other]) => one - other)
    .map(([, text]) => text)
}

interface Made {
  readonly dictionary: Dictionary
  readonly ranks: TextRanks
  /** Notifications of the ranks in their order: "spread" for new ranks, or the codes that have got a rank. */
  readonly told: ('spread' | readonly number[])[]
}

function dictionaryOf(texts: readonly string[]): Dictionary {
  const dictionary = new Dictionary()
  for (const text of texts) dictionary.code(text)
  return dictionary
}

function make(texts: readonly string[], parts: Partial<TextRanksParts> = {}, entity = word): Made {
  const dictionary = dictionaryOf(texts)
  const told: Made['told'] = []
  const ranks = new TextRanks(entity, findMember(entity, 'name') as Property, dictionary, {
    reader,
    readOrder: textStream(sql, entity.table, 'name'),
    onPlaced: (codes) => told.push(codes),
    onSpread: () => told.push('spread'),
    ...parts,
    limits: { placedMax: 0, ...parts.limits },
  })
  return { dictionary, ranks, told }
}

/** Returns the ranks of these texts after all texts have got a rank. */
async function placed(texts: readonly string[], parts: Partial<TextRanksParts> = {}, entity = word): Promise<Made> {
  const made = make(texts, parts, entity)
  await made.ranks.place()
  made.told.length = 0
  return made
}

/** Returns the texts in ascending order of their ranks, and expects that no two texts have the same rank. */
function inOrder({ dictionary, ranks }: Made): string[] {
  const codes = Array.from({ length: dictionary.size - 1 }, (_, index) => 1 + index)
  const numbers = codes.map((code) => ranks.ranks[code] as number)
  expect(new Set(numbers).size).toBe(codes.length)
  expect(Math.min(...numbers)).toBeGreaterThan(0)
  expect(Math.max(...numbers)).toBeLessThan(0xffff_ffff)
  return codes
    .toSorted((one, other) => (ranks.ranks[one] as number) - (ranks.ranks[other] as number))
    .map((code) => dictionary.text(code))
}

/** The table's only rows are these texts. */
async function fill(texts: readonly string[]): Promise<void> {
  await sql`truncate word`
  await sql`insert into word (name) select unnest(${texts}::text[])`
}

/** These texts, and the empty one, in PostgreSQL's order. */
async function ordered(texts: readonly string[]): Promise<string[]> {
  const rows = await sql`
    select name from (select unnest(${['', ...texts]}::text[]) collate "und-x-icu" as name) as given group by name order by name`
  return rows.map((row) => row.name)
}

/** Returns for each operand how many of the texts are less by PostgreSQL. */
async function countsBelow(texts: readonly string[], operands: readonly string[]): Promise<number[]> {
  const rows = await sql`
    select (select count(*)::int from unnest(${['', ...texts]}::text[]) as own where own collate "und-x-icu" < operand) as count
    from unnest(${operands}::text[]) with ordinality as given(operand, place) order by place`
  return rows.map((row) => row.count)
}

/** How many texts are less than an operand, by the ranks; null: they cannot tell. */
function countBelow({ ranks }: Made, operand: string): number | null {
  const known = ranks.knownBound(operand)
  return known && ranks.ranks.filter((rank) => rank > 0 && rank < known.bound).length
}

/** Expects that each statement is within the limits. */
function expectShort(statements: readonly Statement[]): void {
  for (const { values } of statements)
    for (const value of values) {
      expect((value ?? '').split('","').length).toBeLessThanOrEqual(512)
      expect(value?.length).toBeLessThan(150_000)
    }
}

describe('The order of texts', () => {
  const texts = randomTexts(new Random(firstSeed), 3_000)

  test('is read once, although the table has gained and lost texts since the copy was made', async () => {
    await fill([...texts.slice(40), ...Array.from({ length: 40 }, (_, index) => `came later ${index}`)])
    const made = make(texts)
    expect(made.ranks.state).toBe('unread')
    expect(made.ranks.unplaced).toBe(texts.length)
    made.ranks.start()
    expect(made.ranks.state).toBe('reading')
    await made.ranks.place()
    expect(made.ranks.state).toBe('ready')
    expect(made.ranks.unplaced).toBe(0)
    expect(inOrder(made)).toEqual(await ordered(texts))
    expect(made.told.flat().toSorted((one, other) => Number(one) - Number(other))).toEqual(
      texts.slice(0, 40).map((_, index) => 2 + index),
    )
    expect(asked.length).toBeLessThan(6)
    expectShort(asked)
  })

  test('includes new texts at the right positions, while the other texts keep their ranks', async () => {
    await fill(texts)
    const made = await placed(texts.slice(0, 2_000))
    const { dictionary, ranks, told } = made
    for (const end of [2_001, 2_002, 2_040, 2_500]) {
      const before = ranks.ranks.slice()
      const { size } = dictionary
      for (const text of texts.slice(0, end)) dictionary.code(text)
      expect(ranks.unplaced).toBe(dictionary.size - size)
      asked = []
      await ranks.place()
      expect(asked.length).toBeLessThanOrEqual(8)
      expectShort(asked)
      expect(ranks.ranks.subarray(0, size)).toEqual(before.subarray(0, size))
      expect(inOrder(made)).toEqual(await ordered(texts.slice(0, end)))
    }
    expect(told.flat()).toHaveLength(500)
  })

  test('stays correct when gaps between ranks are used up, and the users of the ranks are notified of new ranks', async () => {
    await fill(texts.slice(0, 300))
    const made = await placed(texts.slice(0, 300), { limits: { rankEnd: 1_300 } })
    const { dictionary, ranks, told } = made
    const common = (await ordered(texts.slice(0, 300)))[150] as string
    const names = [...texts.slice(300, 700), ...Array.from({ length: 300 }, (_, index) => `${common} ${index}`)]
    for (let from = 0; from < names.length; from += 35) {
      const before = ranks.ranks.slice(0, dictionary.size)
      for (const text of names.slice(from, from + 35)) dictionary.code(text)
      const isChanged = () => before.some((rank, code) => ranks.ranks[code] !== rank)
      await ranks.place()
      expect(told.at(-1)).toHaveLength(35)
      expect(told.includes('spread')).toBe(isChanged())
      expect(told.at(-2) ?? 'spread').toBe('spread')
      told.length = 0
      expect(inOrder(made)).toEqual(await ordered([...texts.slice(0, 300), ...names.slice(0, from + 35)]))
    }
  })

  test('stays correct when many gaps between ranks are used up at the same time', async () => {
    const nameOf = (number: number) => `Name ${1_000 + number}`
    const even = Array.from({ length: 100 }, (_, index) => nameOf(2 * index))
    await fill(even)
    const made = await placed(even, { limits: { rankEnd: 180 } })
    const odd = Array.from({ length: 70 }, (_, index) => nameOf(2 * index + 1))
    for (const name of odd) made.dictionary.code(name)
    await made.ranks.place()
    expect(made.told).toEqual(['spread', expect.any(Array)])
    expect(inOrder(made)).toEqual(await ordered([...even, ...odd]))
  })

  test('includes texts that were added while it was read', async () => {
    await fill(texts.slice(0, 100))
    const dictionary = dictionaryOf(texts.slice(0, 50))
    const readOrder: ReadOrder = (take) => {
      for (const text of texts.slice(50, 150)) dictionary.code(text)
      return textStream(sql, 'word', 'name')(take)
    }
    const ranks = new TextRanks(word, findMember(word, 'name') as Property, dictionary, {
      reader,
      readOrder,
      onPlaced() {},
      onSpread() {},
      limits: { placedMax: 0 },
    })
    await ranks.place()
    await ranks.place()
    expect(inOrder({ dictionary, ranks, told: [] })).toEqual(await ordered(texts.slice(0, 150)))
  })

  test('stays correct when each new text is less than the one before', async () => {
    await fill([])
    const names = Array.from({ length: 300 }, (_, index) => `Name ${1_999 - index}`)
    const made = await placed([], { limits: { rankEnd: 400 } })
    for (const name of names) {
      made.dictionary.code(name)
      await made.ranks.place()
    }
    expect(inOrder(made)).toEqual(['', ...names.toReversed()])
    expect(asked.length).toBe(300)
  })

  test('is read again when many texts were added; texts that are no longer in the table keep their positions', async () => {
    await fill(texts.slice(0, 500))
    const limits = { unplacedMax: 200 }
    const made = await placed(texts.slice(0, 500), { limits })
    await fill(texts.slice(100, 1_500))
    for (const text of texts.slice(0, 1_500)) made.dictionary.code(text)
    asked = []
    await made.ranks.place()
    expect(made.told.flat()).toHaveLength(1_000)
    expect((made.told[0] as number[]).length).toBeGreaterThan(500)
    expect(inOrder(made)).toEqual(await ordered(texts.slice(0, 1_500)))
    expectShort(asked)
  })

  test('is found, also if none of the earlier texts is in the table any more', async () => {
    await fill(texts.slice(0, 500))
    const made = await placed(texts.slice(0, 500), { limits: { unplacedMax: 200 } })
    await fill(texts.slice(500, 1_000))
    for (const text of texts.slice(500, 1_000)) made.dictionary.code(text)
    await made.ranks.place()
    expect(inOrder(made)).toEqual(await ordered(texts.slice(0, 1_000)))
  })

  test('follows the collation of the column, even if the ICU of this process orders texts otherwise', async () => {
    await sql`create table byte (id bigint, name text collate "C")`
    await sql`insert into byte (name) select name from unnest(${texts.slice(0, 1_000)}::text[]) as name`
    const byte = defineEntity('Byte', { id: identity(), name: text() })
    const made = await placed(texts.slice(0, 1_000), {}, byte)
    asked = []
    for (const text of texts.slice(1_000, 1_120)) made.dictionary.code(text)
    await made.ranks.place()
    const bytes = ['', ...texts.slice(0, 1_120)].toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)))
    expect(inOrder(made)).toEqual(bytes)
    expect(asked.length).toBeLessThan(16)
    expectShort(asked)
  })

  test('is not read for 100 texts, whose order one statement finds', async () => {
    await fill(texts.slice(0, 200))
    const made = make(texts.slice(0, 100), { readOrder: () => Promise.reject(new Error('read')), limits: { placedMax: 128 } })
    asked = []
    await made.ranks.place()
    expect(asked.length).toBe(1)
    expect(inOrder(made)).toEqual(await ordered(texts.slice(0, 100)))
  })

  test('is not read for more texts than the limit; place() fails with ServiceUnavailable', async () => {
    const made = make(texts.slice(0, 11), { limits: { textsMax: 10 } })
    expect(made.ranks.state).toBe('refused')
    made.ranks.start()
    expect(made.ranks.state).toBe('refused')
    expect(made.ranks.place()).rejects.toMatchObject({ code: 'ServiceUnavailable' })
    expect(asked).toEqual([])
  })

  test('is read again after a failure only when the pause is over', async () => {
    await fill(texts.slice(0, 10))
    let isFailing = true
    let readings = 0
    const readOrder: ReadOrder = async (take) => {
      readings++
      if (isFailing) throw new Error('gone')
      await textStream(sql, 'word', 'name')(take)
    }
    for (const [pauseMs, readingsMax] of [
      [60_000, 1],
      [0, 3],
    ] as const) {
      readings = 0
      isFailing = true
      const made = make(texts.slice(0, 10), { readOrder, limits: { pauseMs } })
      await expect(made.ranks.place()).rejects.toBeInstanceOf(ApiError)
      expect(made.ranks.state).toBe(pauseMs === 0 ? 'unread' : 'refused')
      await expect(made.ranks.findBound('Mum')).rejects.toBeInstanceOf(ApiError)
      isFailing = false
      await made.ranks.place().catch(() => undefined)
      expect(readings).toBe(readingsMax)
      expect(made.ranks.state).toBe(pauseMs === 0 ? 'ready' : 'refused')
    }
  })
})

describe('The bound of an operand', () => {
  const texts = randomTexts(new Random(firstSeed), 900)
  const operands = texts.slice(0, 60).map((text, index) => (index % 3 === 0 ? text : `${text}~`))
  beforeAll(() => fill(texts))

  test('has as many texts below it as in PostgreSQL, also after more texts were added', async () => {
    const made = await placed(texts.slice(0, 500))
    for (const until of [500, 510, 900]) {
      for (const text of texts.slice(0, until)) made.dictionary.code(text)
      await made.ranks.place()
      await Promise.all(operands.map((operand) => made.ranks.findBound(operand)))
      const counts = operands.map((operand) => countBelow(made, operand))
      expect(counts).toEqual(await countsBelow(texts.slice(0, until), operands))
    }
    const [operand] = operands as [string]
    expect(made.ranks.knownBound(operand)?.equal).toBe(made.ranks.ranks[made.dictionary.find(operand) as number] as number)
    expect(made.ranks.knownBound(operands[1] as string)?.equal).toBeNull()
  })

  test('becomes unknown when a new text gets a rank in the gap of the bound', async () => {
    const made = await placed(texts)
    await made.ranks.findBound('Mum and a half')
    const below = countBelow(made, 'Mum and a half') as number
    made.dictionary.code('Mum and')
    made.dictionary.code('Mum and a half less')
    expect(countBelow(made, 'Mum and a half')).toBe(below)
    await made.ranks.place()
    expect(made.ranks.knownBound('Mum and a half')).toBeNull()
    await made.ranks.findBound('Mum and a half')
    expect(countBelow(made, 'Mum and a half')).toBe(below + 1)
  })

  test('is found by the same statement as 38 other bounds and the ranks of 40 new texts', async () => {
    const made = await placed(texts)
    asked = []
    const names = Array.from({ length: 40 }, (_, index) => `Mum ${10 + index}`)
    for (const name of names) made.dictionary.code(name)
    const wanted = Array.from({ length: 39 }, (_, index) => `Mum ${10 + index} and`)
    await Promise.all([...wanted, ...wanted].map((operand) => made.ranks.findBound(operand)))
    expect(asked.length).toBe(1)
    expect(made.ranks.unplaced).toBe(0)
    expect(wanted.map((operand) => countBelow(made, operand))).toEqual(await countsBelow([...texts, ...names], wanted))
  })

  test('needs no statement if a text equals the operand, or if the bound was found before', async () => {
    const made = await placed(texts)
    asked = []
    for (const text of ['', ...texts.slice(0, 100)]) await made.ranks.findBound(text)
    expect(asked).toEqual([])
    await made.ranks.findBound('Mum')
    await made.ranks.findBound('Mum')
    expect(asked.length).toBe(1)
    expect(countBelow(made, '')).toBe(0)
  })

  test('is found for at most 100 operands at the same time; further operands are refused with ServiceUnavailable', async () => {
    const made = await placed(texts)
    const found = await Promise.allSettled(Array.from({ length: 150 }, (_, index) => made.ranks.findBound(`Mum ${index}`)))
    expect(found.filter(({ status }) => status === 'fulfilled')).toHaveLength(100)
    expect(found.findIndex(({ status }) => status === 'rejected')).toBe(100)
    expect(found.at(-1)).toMatchObject({ reason: { code: 'ServiceUnavailable' } })
    await made.ranks.findBound('Mum 149')
    expect(countBelow(made, 'Mum 149')).toBeGreaterThan(0)
  })

  test('is found correctly if long operands need several statements', async () => {
    const made = await placed(texts)
    const long = Array.from({ length: 40 }, (_, index) => `${'Mum'.repeat(650)} ${10 + index}`)
    const names = long.filter((_, index) => index % 3 === 0)
    const operands = long.filter((_, index) => index % 3 !== 0)
    for (const name of names) made.dictionary.code(name)
    asked = []
    const find = () => Promise.all(operands.map((operand) => made.ranks.findBound(operand)))
    await Promise.all([made.ranks.place(), find()])
    // Names of the second statement may lie in gaps of the first.
    await find()
    expect(operands.map((operand) => countBelow(made, operand))).toEqual(await countsBelow([...texts, ...names], operands))
    expect(asked.length).toBeGreaterThan(1)
    expectShort(asked)
  })
})

test('Statements for ranks stay short even if the texts are long', async () => {
  const longOf = (number: number) => `${'Mum'.repeat(500)} ${1_000 + number}`
  const long = Array.from({ length: 200 }, (_, index) => longOf(5 * index))
  await fill(long)
  const made = await placed(long)
  asked = []
  const more = Array.from({ length: 60 }, (_, index) => longOf(15 * index + 1))
  for (const name of more) made.dictionary.code(name)
  await made.ranks.place()
  expectShort(asked)
  expect(inOrder(made)).toEqual(await ordered([...long, ...more]))
})

test('An error of PostgreSQL while ranks are found is thrown, changes no rank, and does not affect later attempts', async () => {
  const texts = randomTexts(new Random(firstSeed), 300)
  await fill(texts)
  const ended = new Database({ url: await createDatabase('empty'), poolSize: 1, prepare: true })
  await ended.end()
  let of: Reader = database
  const made = await placed(texts, { reader: { read: (statement) => of.read(statement) } })
  const { dictionary, ranks, told } = made
  const before = ranks.ranks.slice()
  dictionary.code('Mum')
  of = ended
  await Promise.allSettled(Array.from({ length: 100 }, (_, index) => ranks.findBound(`Mum ${index}`)))
  const failed = await Promise.allSettled([ranks.place(), ranks.place(), ranks.findBound('Mummy')])
  for (const result of failed) expect(result).toMatchObject({ status: 'rejected', reason: { code: 'ServiceUnavailable' } })
  expect(told).toEqual([])
  expect(ranks.ranks.subarray(0, before.length)).toEqual(before)
  expect(ranks.knownBound('Mummy')).toBeNull()
  of = database
  await Promise.all([ranks.place(), ranks.findBound('Mummy')])
  expect(inOrder(made)).toEqual(await ordered([...texts, 'Mum']))
  expect([countBelow(made, 'Mummy')]).toEqual(await countsBelow([...texts, 'Mum'], ['Mummy']))
})
