// Keeps what is typed into one open form, saves it, and decides what to do if it cannot be saved.
import { Problem, send } from './api.ts'
import { type Draft, forgetDraft, keepDraft, readDraft } from './drafts.ts'
import { say } from './notices.tsx'
import { Store } from './store.ts'
import { printBody, type Texts, textOf, typedOf } from './typed.ts'
import type { Variant } from './variants.ts'
import type { FormField } from './writable.ts'
import {
  announce,
  attemptOf,
  faultsOf,
  inWordsOf,
  isUncertain,
  problemOf,
  readVersioned,
  tellsNothing,
  type Versioned,
  writeRow,
} from './writes.ts'

/** A property that the reader and somebody else have changed to different values. */
export interface Clash {
  readonly field: FormField
  readonly before: string
  readonly mine: string
  readonly theirs: string
}

/** State of a form. It decides what the form shows in addition to its fields. */
export type State =
  | { readonly kind: 'open'; readonly faults: Texts; readonly problem: Problem | null }
  | { readonly kind: 'sending' }
  /** A failed write is waiting to be sent again. `isCertain`: nothing was saved, so the reader can go back to the fields. */
  | { readonly kind: 'waiting'; readonly problem: Problem; readonly isCertain: boolean }
  | { readonly kind: 'clash'; readonly clashes: readonly Clash[]; readonly theirs: Versioned }
  /** The row was deleted, or the reader may not see it any more. */
  | { readonly kind: 'gone' }

const OPEN: State = { kind: 'open', faults: {}, problem: null }

interface Options {
  readonly draftId: string
  readonly variants: readonly Variant[]
  /** The row to change, as it was read; null for a new row. */
  readonly row: Versioned | null
  /** Path to which the write is sent: the path of the collection for a new row, else the path of the row. */
  readonly path: string
  /** Takes the row as it is after the write. `others`: fields whose values somebody else has changed meanwhile. */
  saved(row: Versioned, others: readonly FormField[]): void
}

/**
 * Maximum retries of a write. It is retried if somebody else has changed the row meanwhile, but no property that the reader has
 * changed.
 */
const RESENDS_MAX = 3
/** Time for which the server recognizes a repeated creation by its `Idempotency-Key`. */
const REPEAT_MS_MAX = 24 * 3_600_000

export class FormWork {
  readonly state = new Store<State>(OPEN)
  draft: Draft
  /** False if the draft is too long to be kept. */
  isKept = true
  private others: readonly FormField[] = []
  /** True if the attempt was sent before, and it is not known whether the write was done. */
  private isUnknown = false

  constructor(private readonly options: Options) {
    this.draft = readDraft(options.draftId) ?? this.emptyDraft()
  }

  /** If a write was under way when the page was left, sends it again. The server does the write only once. */
  resume(): void {
    if (this.draft.attempt === null) return
    this.isUnknown = true
    void this.send()
  }

  private emptyDraft(): Draft {
    return { texts: {}, labels: {}, base: this.options.row, variant: 0, attempt: null }
  }

  get variant(): Variant {
    return (this.options.variants[this.draft.variant] ?? this.options.variants[0]) as Variant
  }

  get isChanged(): boolean {
    return Object.keys(this.draft.texts).length > 0
  }

  /** Returns the text of a field: what was typed, else the value of the row. */
  textOf(field: FormField): string {
    return this.draft.texts[field.name] ?? this.baseOf(field)
  }

  private baseOf(field: FormField): string {
    const { base } = this.draft
    return base === null ? (field.kind === 'boolean' ? 'false' : '') : textOf(field, base.row)
  }

  /** Takes what was typed into a field. `chosen`: name of the row that was chosen for a reference; empty if none was chosen. */
  take(field: FormField, text: string, chosen = ''): void {
    const { [field.name]: _, ...rest } = this.draft.texts
    const texts = text === this.baseOf(field) ? rest : { ...rest, [field.name]: text }
    this.keep({ ...this.draft, texts, labels: { ...this.draft.labels, [field.name]: chosen } })
    const { value } = this.state
    const { [field.name]: __, ...faults } = value.kind === 'open' ? value.faults : {}
    this.state.set({ kind: 'open', faults, problem: null })
  }

  choose(variant: number): void {
    this.keep({ ...this.draft, variant })
    this.state.set(OPEN)
  }

  private keep(draft: Draft): void {
    this.draft = draft
    if (!this.isChanged && draft.attempt === null && draft.variant === 0) forgetDraft(this.options.draftId)
    else this.isKept = keepDraft(this.options.draftId, draft)
  }

  /** Forgets what was typed; a message offers to bring it back. */
  discard(): void {
    const { draft, isChanged } = this
    const { draftId } = this.options
    forgetDraft(draftId)
    this.draft = this.emptyDraft()
    this.state.set(OPEN)
    const undo = () => {
      keepDraft(draftId, draft)
      announce('')
    }
    if (isChanged) say('What you typed was discarded.', { undo })
  }

  /** Returns to the fields, so that the reader can change what was not saved. */
  stopWaiting(): void {
    this.state.set(OPEN)
  }

  /**
   * Saves what was typed. If a text is not valid for its property, shows the fault instead. `conflicts`: number of earlier
   * attempts that were answered 412.
   */
  async save(conflicts = 0): Promise<void> {
    const typed = this.sentFields().map((field) => ({ name: field.name, typed: typedOf(field, this.textOf(field)) }))
    const faults = typed.flatMap(({ name, typed }) => ('fault' in typed ? [[name, typed.fault] as const] : []))
    if (faults.length > 0) return this.state.set({ kind: 'open', faults: Object.fromEntries(faults), problem: null })
    if (!this.isChanged && this.draft.base === null)
      return this.state.set({ kind: 'open', faults: {}, problem: new Problem('Nothing is filled in yet.') })
    const body = printBody(typed.flatMap(({ name, typed }) => ('json' in typed ? { name, json: typed.json } : [])))
    this.isUnknown = false
    this.keep({ ...this.draft, attempt: attemptOf(body, this.draft.base?.tag ?? '') })
    await this.send(conflicts)
  }

  /**
   * Returns the fields to send. Of a stored row: the changed fields. Of a new row: the changed and the required fields, or all
   * fields if the variant demands it.
   */
  private sentFields(): readonly FormField[] {
    const { fields, isWhole } = this.variant
    const isTyped = ({ name }: FormField) => name in this.draft.texts
    if (this.draft.base !== null) return fields.filter(isTyped)
    return isWhole ? fields : fields.filter((field) => isTyped(field) || field.isRequired)
  }

  /** Sends the attempt of the draft. `conflicts`: number of earlier attempts that were answered 412. */
  async send(conflicts = 0): Promise<void> {
    const { attempt, base } = this.draft
    if (attempt === null) return
    if (base === null && Date.now() - attempt.madeMs > REPEAT_MS_MAX) return this.giveUp()
    this.state.set({ kind: 'sending' })
    try {
      const row = await writeRow(base === null ? 'POST' : 'PATCH', this.options.path, attempt)
      this.finish(row)
    } catch (error) {
      const problem = problemOf(error)
      this.isUnknown ||= isUncertain(problem)
      // The same attempt is kept, because a new attempt could create a second row.
      if (isUncertain(problem) || (this.isUnknown && tellsNothing(problem))) return this.wait(problem, false)
      this.keep({ ...this.draft, attempt: null })
      if (base !== null && problem.status === 412) return this.merge(conflicts)
      this.refuse(problem)
    }
  }

  /**
   * Leaves it to the reader whether to send a new row again. The row may have been created, and the server no longer knows its
   * `Idempotency-Key`.
   */
  private giveUp(): void {
    this.keep({ ...this.draft, attempt: null })
    const words = 'It is not certain whether this was saved before. Look for it in the list: if it is not there, save it again.'
    this.state.set({ kind: 'open', faults: {}, problem: new Problem(words) })
  }

  private finish(row: Versioned): void {
    forgetDraft(this.options.draftId)
    this.draft = { ...this.emptyDraft(), base: row }
    this.state.value = OPEN
    this.options.saved(row, this.others)
  }

  private wait(problem: Problem, isCertain: boolean): void {
    this.state.set({ kind: 'waiting', problem: inWordsOf(problem), isCertain })
  }

  /** Shows why nothing was saved: faults at their fields, and a message for any other error. */
  private refuse(problem: Problem): void {
    if (problem.status === 404 && this.draft.base !== null) this.state.set({ kind: 'gone' })
    else if (problem.retryAfter !== null) this.wait(problem, true)
    else this.showFaults(problem)
  }

  private showFaults(problem: Problem): void {
    const { fields } = this.variant
    const faults: Record<string, string> = {}
    for (const { target, message } of faultsOf(problem)) {
      // A fault of `EmployeeId.CompanyId` is shown at the field `EmployeeId`.
      const field = fields.find(({ name }) => `${target}.`.toLowerCase().startsWith(`${name}.`.toLowerCase()))
      if (field) faults[field.name] = [faults[field.name], message].filter(Boolean).join(' ')
    }
    const isShown = faultsOf(problem).length > 0 && Object.keys(faults).length === faultsOf(problem).length
    const words = isShown && problem.status !== 403 ? null : inWordsOf(problem)
    this.state.set({ kind: 'open', faults, problem: words })
  }

  /**
   * Reads what somebody else has saved meanwhile. If the reader has changed one of the same properties to a different value, asks
   * which value stays; otherwise saves again.
   */
  private async merge(conflicts: number): Promise<void> {
    try {
      const theirs = await readVersioned(await send(this.options.path))
      const clashes = this.clashesWith(theirs)
      if (clashes.length > 0) this.state.set({ kind: 'clash', clashes, theirs })
      else await this.rebase(theirs, {}, conflicts)
    } catch (error) {
      this.refuse(problemOf(error))
    }
  }

  private clashesWith(theirs: Versioned): readonly Clash[] {
    return this.variant.fields.flatMap((field) => {
      const mine = this.draft.texts[field.name]
      const before = this.baseOf(field)
      const now = textOf(field, theirs.row)
      return mine === undefined || now === before || now === mine ? [] : [{ field, before, mine, theirs: now }]
    })
  }

  /** Takes the row that somebody else has saved, applies what was typed and the chosen texts, and saves the row. */
  async rebase(theirs: Versioned, chosen: Texts, conflicts = 0): Promise<void> {
    const { fields } = this.variant
    const texts = { ...this.draft.texts, ...chosen }
    const isOther = (field: FormField) => this.baseOf(field) !== textOf(field, theirs.row)
    this.others = [...this.others, ...fields.filter((field) => isOther(field) && !(field.name in this.draft.texts))]
    const left = fields.filter(({ name, ...field }) => name in texts && texts[name] !== textOf(field, theirs.row))
    const kept = Object.fromEntries(left.map(({ name }) => [name, texts[name] as string]))
    this.keep({ ...this.draft, base: theirs, texts: kept })
    if (!this.isChanged) return this.finish(theirs)
    if (conflicts < RESENDS_MAX) return this.save(conflicts + 1)
    this.state.set({ kind: 'open', faults: {}, problem: new Problem('Others are changing this row, too. Save again.') })
  }

  /** Returns what was typed, as lines to copy. */
  print(): string {
    const { fields } = this.variant
    const lines = fields.flatMap((field) => {
      const text = this.draft.texts[field.name]
      return text === undefined ? [] : `${field.label}: ${this.draft.labels[field.name] || text}`
    })
    return lines.join('\n')
  }
}
