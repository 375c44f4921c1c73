// Ranks of a property's texts by its collation, and the positions of operands among these ranks. New texts get ranks between the
// existing ones.
import { setImmediate } from 'node:timers/promises'
import { ApiError } from '../errors.ts'
import { unavailable } from '../execute/outcomes.ts'
import type { Entity, Property } from '../model/entity.ts'
import { LruCache } from '../model/lruCache.ts'
import { firstNotBefore } from './bisect.ts'
import { Collation, type Reader } from './collation.ts'
import { EMPTY_TEXT } from './dictionary.ts'
import { type Insertion, RANK_END, TEXTS_MAX, TextOrder, type Texts } from './textOrder.ts'

/** Reads the distinct texts of a column in the order of its collation, and calls `onText` with each. */
export type ReadOrder = (onText: (text: string) => void) => Promise<void>

/**
 * State of the ranks. `refused`: there are too many texts, or their order could not be read. After a failed reading, `start`
 * tries again when a pause has ended.
 */
export type RanksState = 'unread' | 'reading' | 'ready' | 'refused'

export interface TextRanksParts {
  /** Connection over which PostgreSQL compares texts. */
  readonly reader: Reader
  readonly readOrder: ReadOrder
  /**
   * Called when texts have got ranks, with the codes of these texts, in the same turn of the event loop. It is not called for the
   * first reading, after which `state` becomes `ready`.
   */
  onPlaced(codes: readonly number[]): void
  /**
   * Called when texts have got new ranks without a change of their order, because a gap was full. It is called before `onPlaced`,
   * in the same turn of the event loop.
   */
  onSpread(): void
  readonly limits?: Partial<typeof LIMITS>
}

/** Maximum number of texts in one statement. ICU takes some 2 ms to guess the positions of this many texts. */
const BATCH_TEXTS_MAX = 128

const LIMITS = {
  /** Number that is one more than the greatest possible rank. */
  rankEnd: RANK_END,
  textsMax: TEXTS_MAX,
  /** Maximum number of texts that get their ranks without a reading of the whole column. */
  placedMax: BATCH_TEXTS_MAX,
  /**
   * Maximum number of texts without a rank that are newer than the last reading of the order. With more, the order is read again.
   */
  unplacedMax: 20_000,
  /** Pause after a failed reading, in ms. */
  pauseMs: 60_000,
}

const CHARACTERS_MAX = 64 * 1_024
/** Maximum number of thresholds in one statement. For each text, PostgreSQL walks along the array of thresholds. */
const THRESHOLDS_MAX = 512
/** Maximum number of thresholds on each side of the position that this process's ICU guesses for a text. */
const NEAR_MAX = 8
/** Maximum number of operands of one property that wait at the same time. */
const OPERANDS_MAX = 100
const GAPS_BYTES_MAX = 256 * 1_024
const guess = new Intl.Collator('und')

/** Codes of the texts before and after an operand in the order; 0 if there is none. */
interface Gap {
  readonly below: number
  readonly above: number
}

/**
 * Position of an operand among the ranks. Texts that come before it have ranks below `bound`. `equal`: rank of the operand
 * itself; null if it is not one of the texts.
 */
export interface RankBound {
  readonly bound: number
  readonly equal: number | null
}

/** A text whose position is searched. The position is at least `from` and at most `to`. */
interface Search {
  readonly text: string
  /** Code of a new text; null if the text is an operand. */
  readonly code: number | null
  from: number
  to: number
}

/**
 * Ranks of a column's texts. They are valid while PostgreSQL and the definition of the column stay the same. They use 8 to 12
 * bytes per text (twice as many while the order is read), and 256 KiB for operands.
 */
export class TextRanks {
  private readonly limits: typeof LIMITS
  private readonly order: TextOrder
  private readonly collation: Collation
  private isRead = false
  /** Resolves when the first reading of the order has ended; null while it is not running. */
  private reading: Promise<void> | null = null
  /** Number of texts when the order was last read. */
  private sizeAtReading = 0
  private pausedUntilMs = Number.NEGATIVE_INFINITY
  /** Code below which all texts have ranks. */
  private first = EMPTY_TEXT
  private step: Promise<void> | null = null
  /** Operands that wait for a step. */
  private readonly operands = new Set<string>()
  /** Gaps in which operands were found. If a new text is placed in a gap, the entry is no longer used. */
  private readonly gaps = new LruCache<Gap>(GAPS_BYTES_MAX, (_, operand) => 128 + 2 * operand.length)

  constructor(
    entity: Entity,
    property: Property,
    private readonly texts: Texts,
    private readonly parts: TextRanksParts,
  ) {
    this.limits = { ...LIMITS, ...parts.limits }
    this.order = new TextOrder(this.limits.rankEnd)
    this.collation = new Collation(entity, property, parts.reader)
  }

  /** Ranks by code, from code 1 on, with gaps; 0: the text has no rank yet. New texts may replace the array. */
  get ranks(): Uint32Array {
    this.order.cover(this.texts.size)
    return this.order.ranks
  }

  get state(): RanksState {
    if (this.texts.size > this.limits.textsMax) return 'refused'
    if (this.isRead) return 'ready'
    if (this.reading) return 'reading'
    return performance.now() < this.pausedUntilMs ? 'refused' : 'unread'
  }

  /** Number of texts without a rank. */
  get unplaced(): number {
    return this.texts.size - 1 - this.order.size
  }

  get bytes(): number {
    return this.order.bytes + GAPS_BYTES_MAX
  }

  /**
   * Begins to read the order if `state` is `unread`. If there are only few texts, no reading is needed, and the state becomes
   * `ready`.
   */
  start(): void {
    if (this.state !== 'unread') return
    if (this.texts.size <= this.limits.placedMax) {
      this.isRead = true
      return
    }
    this.reading = this.read()
    this.reading.catch(() => undefined).finally(() => (this.reading = null))
  }

  /** Resolves when all texts that exist at the time of the call have ranks. @throws ApiError 500, 503 */
  async place(): Promise<void> {
    const { size } = this.texts
    await this.ready()
    while (this.firstUnplaced() < size) await this.takeStep()
  }

  private firstUnplaced(): number {
    const { ranks, texts } = this
    while (this.first < texts.size && ranks[this.first] !== 0) this.first++
    return this.first
  }

  /** Returns the position of an operand among the ranks; null if `findBound` must find it first. */
  knownBound(operand: string): RankBound | null {
    const { order } = this
    const code = this.texts.find(operand)
    const equal = code === null ? 0 : (order.ranks[code] ?? 0)
    if (equal > 0) return { bound: equal, equal }
    const gap = this.gaps.get(operand)
    if (gap === undefined) return null
    const position = gap.above === 0 ? order.size : order.positionOf(gap.above)
    if (order.codeAt(position - 1) !== gap.below) return null
    return { bound: gap.above === 0 ? this.limits.rankEnd : order.ranks[gap.above], equal: null }
  }

  /**
   * Finds the position of an operand among the ranks. Then `knownBound` returns it, unless many long operands have evicted it.
   * @throws ApiError 500, 503
   */
  async findBound(operand: string): Promise<void> {
    await this.ready()
    if (this.knownBound(operand) !== null) return
    if (this.operands.size >= OPERANDS_MAX && !this.operands.has(operand))
      throw unavailable(new Error('too many operands are looked for'))
    this.operands.add(operand)
    while (this.operands.has(operand)) await this.takeStep()
  }

  /** Waits until the order was read for the first time. @throws ApiError 503 */
  private async ready(): Promise<void> {
    this.start()
    await this.reading
    if (this.state !== 'ready') throw unavailable(new Error('the texts of a property have no order'))
  }

  /** Does one step of the search for positions of new texts and operands. Concurrent callers share one step. */
  private takeStep(): Promise<void> {
    this.step ??= this.placeSome().finally(() => (this.step = null))
    return this.step
  }

  /**
   * Finds the positions of some new texts and operands. If many texts have no rank, it reads the order again instead. Only texts
   * that are newer than the last reading are counted, since no reading gives a rank to a text that no row has any more.
   */
  private async placeSome(): Promise<void> {
    const came = this.texts.size - this.sizeAtReading
    const isDue = Math.min(came, this.unplaced) > this.limits.unplacedMax && performance.now() >= this.pausedUntilMs
    try {
      await (isDue ? this.read() : this.placeBatch())
    } catch (error) {
      // All callers that wait get this error.
      this.operands.clear()
      throw error
    }
  }

  /** Reads the order of all texts of the column. */
  private async read(): Promise<void> {
    const { order, texts, parts } = this
    const { size } = texts
    const sorted = new Int32Array(size)
    // The empty text is always the first text, even if no row has it.
    sorted[0] = EMPTY_TEXT
    let length = 1
    try {
      await parts.readOrder((text) => {
        const code = texts.find(text)
        if (code !== null && code !== EMPTY_TEXT && code < size) sorted[length++] = code
      })
      order.cover(size)
      const steps = order.findPositions(sorted.subarray(0, length))
      let step = steps.next()
      for (; !step.done; step = steps.next()) await setImmediate()
      this.sizeAtReading = size
      this.insert(step.value)
      this.isRead = true
    } catch (error) {
      this.pausedUntilMs = performance.now() + this.limits.pauseMs
      throw error instanceof ApiError ? error : unavailable(error)
    }
  }

  /** Finds positions in the order. Takes as many waiting operands and new texts as one statement can have. */
  private async placeBatch(): Promise<void> {
    // All texts and operands that are added in this turn of the event loop share the statement.
    await setImmediate()
    const searches = this.takeBatch()
    if (searches.length > 0) this.apply(await this.locate(searches))
  }

  /** Returns as many searches as one statement can have. If any search waits, returns at least one, however long its text is. */
  private takeBatch(): Search[] {
    const { texts, order } = this
    const batch: Search[] = []
    let characters = 0
    const add = (text: string, code: number | null): boolean => {
      characters += text.length
      if (batch.length > 0 && (batch.length === BATCH_TEXTS_MAX || characters > CHARACTERS_MAX)) return false
      batch.push({ text, code, from: 0, to: order.size })
      return true
    }
    for (const operand of this.operands) if (!add(operand, null)) return batch
    const { ranks } = this
    for (let code = this.firstUnplaced(); code < texts.size; code++)
      if (ranks[code] === 0 && !add(texts.text(code), code)) return batch
    return batch
  }

  /** Inserts new texts, and stores the gaps of operands. `searches`: in ascending order of their texts, with known positions. */
  private apply(searches: readonly Search[]): void {
    const { order } = this
    const added: number[] = []
    const positions: number[] = []
    const found: [string, number][] = []
    for (const { text, code, to } of searches) {
      if (code === null) {
        found.push([text, to + added.length])
        continue
      }
      added.push(code)
      positions.push(to)
    }
    this.insert({ added, positions })
    for (const [operand, position] of found) {
      this.gaps.set(operand, { below: order.codeAt(position - 1), above: order.codeAt(position) })
      this.operands.delete(operand)
    }
  }

  private insert(insertion: Insertion): void {
    if (insertion.added.length === 0) return
    const hasSpread = this.order.insert(insertion)
    if (!this.isRead) return
    if (hasSpread) this.parts.onSpread()
    this.parts.onPlaced(Array.from(insertion.added))
  }

  /**
   * Finds the positions of texts in the order: afterwards, `from` equals `to` for each. Returns the searches in ascending order
   * of their texts.
   */
  private async locate(searches: Search[]): Promise<Search[]> {
    const { order, texts } = this
    let sorted = searches
    for (let open = searches, isFirst = true; open.length > 0; isFirst = false) {
      const positions = this.thresholdsOf(open, isFirst)
      const thresholds = positions.map((position) => texts.text(order.codeAt(position)))
      const answer = await this.collation.positions(
        open.map(({ text }) => text),
        thresholds,
      )
      if (isFirst) sorted = answer.map(({ index }) => searches[index])
      for (const { index, threshold } of answer) {
        const search = open[index]
        if (threshold > 0) search.from = Math.max(search.from, positions[threshold - 1] + 1)
        if (threshold < positions.length) search.to = Math.min(search.to, positions[threshold])
      }
      open = open.filter(({ from, to }) => from < to)
    }
    return sorted
  }

  /** Returns the positions of the texts with which the searched texts are compared, in ascending order. */
  private thresholdsOf(open: readonly Search[], isFirst: boolean): number[] {
    const positions = new Set<number>()
    const share = Math.floor(THRESHOLDS_MAX / open.length)
    for (const { text, from, to } of open) {
      let first = from
      let end = to
      let step = Math.ceil((to - from) / share)
      if (isFirst) {
        const position = firstNotBefore(
          from,
          to,
          (position) => guess.compare(this.texts.text(this.order.codeAt(position)), text) < 0,
        )
        const near = Math.min(NEAR_MAX, share >> 1)
        ;[first, end, step] = [Math.max(from, position - near), Math.min(to, position + near), 1]
      }
      for (let position = first + ((step - 1) >> 1); position < end; position += step) positions.add(position)
    }
    let sorted = [...positions].sort((one, other) => one - other)
    // If the texts are too long, every second one is left out. The remaining texts still narrow the search.
    while (sorted.length > 1 && this.charactersOf(sorted) > CHARACTERS_MAX) sorted = sorted.filter((_, index) => index % 2 === 0)
    return sorted
  }

  private charactersOf(positions: readonly number[]): number {
    return positions.reduce((sum, position) => sum + this.texts.text(this.order.codeAt(position)).length, 0)
  }
}
