// Searches a property's texts without regard to case and accents. The folded texts are in one buffer.
import { setImmediate } from 'node:timers/promises'
import { foldSql, foldText, isSurelyFolded } from '../model/fold.ts'
import type { Filter } from '../model/query.ts'
import { arrayText, param, sql, toStatement } from '../model/sql.ts'
import { firstNotBefore } from './bisect.ts'
import type { Reader } from './collation.ts'
import { widened } from './dictionary.ts'
import { TEXTS_MAX, type Texts } from './textOrder.ts'

/** Number of texts that are folded, or searched, in one step. */
const STEP_TEXTS = 2_048
/** Byte before each text; no text contains it. */
const MARK = 0

const texts = param(null)
const { text: FOLD } = toStatement(
  sql`select ${foldSql(sql`given."V"`)} from unnest(${texts}::text[]) with ordinality as given ("V", "N") order by "N"`,
  [texts],
)

/**
 * Finds the texts that `[begins]` and `[contains]` match. If this process might fold a text differently than PostgreSQL, it asks
 * PostgreSQL for the folded text.
 */
export class FoldedTexts {
  private octets: Buffer = Buffer.alloc(1 << 10)
  private length = 0
  /** Index of the mark before each folded text, by the code of the text. */
  private starts = new Int32Array(1 << 5)
  /** Number that is one more than the greatest code of a folded text. */
  private size = 1
  private adding: Promise<void> | null = null
  /** Codes of the matching texts, by filter. Only texts with codes below the entry's `size` were searched. */
  private readonly found = new WeakMap<Filter, { readonly codes: number[]; size: number }>()

  constructor(
    private readonly texts: Texts,
    private readonly reader: Reader,
  ) {}

  get bytes(): number {
    return this.octets.length + this.starts.byteLength
  }

  /**
   * Folds new texts, and searches for the texts that the filter matches, in steps. Returns null if there is nothing to wait for:
   * the texts are known, or only PostgreSQL can find them. @throws as `run`
   */
  prepare(filter: Filter, run: (steps: Generator<void, void>) => Promise<void>): Promise<void> | null {
    const isKnown = this.find(filter) !== null || this.texts.size > TEXTS_MAX || !isSurelyFolded(filter.value as string)
    if (isKnown) return null
    // If the texts cannot be folded, `find` returns null, and PostgreSQL answers the list.
    return this.extend().then(
      () => run(this.search(filter)),
      () => undefined,
    )
  }

  private extend(): Promise<void> {
    this.adding ??= this.add().finally(() => (this.adding = null))
    return this.adding
  }

  /**
   * Returns the codes of the texts that the filter matches, in ascending order. Returns null if `prepare` has not searched all
   * texts yet, or if only PostgreSQL can find them.
   */
  find(filter: Filter): number[] | null {
    const found = this.found.get(filter)
    return found?.size === this.texts.size ? found.codes : null
  }

  private *search(filter: Filter): Generator<void, void> {
    const folded = foldText(filter.value as string)
    const needle = Buffer.from(filter.operator.folded === 'beginning' ? `\0${folded}` : folded)
    const found = this.found.get(filter) ?? { codes: [], size: 1 }
    this.found.set(filter, found)
    while (found.size < this.size) {
      const end = Math.min(found.size + STEP_TEXTS, this.size)
      const piece = this.octets.subarray(0, end === this.size ? this.length : this.startOf(end))
      for (let code = found.size; code < end; code++) {
        const at = needle.length === 0 ? this.startOf(code) : piece.indexOf(needle, this.startOf(code))
        if (at < 0) break
        code = firstNotBefore(code + 1, end, (next) => this.startOf(next) <= at) - 1
        found.codes.push(code)
      }
      found.size = end
      yield
    }
  }

  private startOf(code: number): number {
    return this.starts[code]
  }

  private async add() {
    while (this.size < this.texts.size) {
      const end = Math.min(this.size + STEP_TEXTS, this.texts.size)
      const unsure: number[] = []
      const folded: string[] = []
      for (let code = this.size; code < end; code++) {
        const text = this.texts.text(code)
        if (!isSurelyFolded(text)) unsure.push(folded.length)
        folded.push(foldText(text))
      }
      if (unsure.length > 0) await this.ask(folded, unsure)
      for (const text of folded) this.append(text)
      await setImmediate()
    }
  }

  /** Replaces the folded texts at these indexes by those that PostgreSQL returns. */
  private async ask(folded: string[], indexes: readonly number[]) {
    const values = [arrayText(indexes.map((index) => this.texts.text(this.size + index)))]
    const rows = await this.reader.read({ text: FOLD, values })
    for (const [row, index] of indexes.entries()) folded[index] = rows[row]?.[0] as string
  }

  private append(text: string) {
    const end = this.length + 1 + 3 * text.length
    if (end > this.octets.length) this.octets = Buffer.concat([this.octets], 2 * end)
    if (this.size === this.starts.length) this.starts = widened(this.starts)
    this.starts[this.size++] = this.length
    this.octets[this.length] = MARK
    this.length += 1 + this.octets.write(text, this.length + 1)
  }
}
