// Runs an import: opens the dropped file, proposes what its columns mean, checks what the import would do, and does it.
import type { CsvRecord } from '../../spreadsheets/csvRecords.ts'
import { Problem } from './api.ts'
import { formatCount } from './format.ts'
import { checkImport, placesInWords, rowFaults } from './importCheck.ts'
import { choicesFor, doubleChoices } from './importChoices.ts'
import type { Choice, Chosen, FileColumn, Header } from './importColumns.ts'
import { forgetImport, forgetImports, type ImportEntry, readImports } from './importJournal.ts'
import type { ChangedRow, NearRow, TwinRow } from './importMatch.ts'
import { type FoundNotation, loadReader, type OpenedFile, type Reader } from './importParts.ts'
import type { References } from './importReferences.ts'
import type { Progress, Watch } from './importRequests.ts'
import type { ImportRow, RowReading } from './importRows.ts'
import { runImport, StepRefused, TooLate } from './importRun.ts'
import { type Footer, headersOf, isOwnDownload, notatedCells, rememberColumn, rememberedColumns, tableOf } from './importSheet.ts'
import { keepSteps } from './importSteps.ts'
import type { ImportProperty } from './importTarget.ts'
import { type Undone, undoImport } from './importUndo.ts'
import type { Resource } from './resources.ts'
import { sessionStore } from './session.ts'
import { Store } from './store.ts'
import type { Writable } from './writable.ts'
import { announce, inWordsOf, problemOf } from './writes.ts'

/** Maximum size of a file in bytes. */
const FILE_BYTES_MAX = 32 * 1024 * 1024
/** Maximum rows of a sheet. */
const ROWS_MAX = 100_000

/** Result of a check: the rows that an import would create and change. */
export interface Check {
  readonly created: readonly ImportRow[]
  readonly changed: readonly ChangedRow[]
  readonly equal: number
  readonly near: readonly NearRow[]
  /** New rows that equal a stored row in all values. They are looked for only if stored rows are not found by a property. */
  readonly twins: readonly TwinRow[]
  /** Faults as sentences; equal faults are listed once. */
  readonly faults: readonly string[]
  /** Sentences about properties by which no stored rows can be found, because several rows of the file have the same value. */
  readonly repeated: readonly string[]
  /** Property by which stored rows are found; empty: all rows are new. */
  readonly match: string
  /** Properties by which stored rows can be found. */
  readonly matches: readonly { readonly name: string; readonly label: string }[]
  /** Referenced rows, found by the values of the file. */
  readonly references: References
}

/** A file that was opened, and how it is read. */
export interface Opened {
  readonly name: string
  readonly bytes: Uint8Array
  readonly file: OpenedFile
  /** Index of the chosen sheet. */
  readonly sheet: number
  readonly header: Header
  /** Last records, which seem to be totals or notes. They are imported only if the reader takes them. */
  readonly footer: Footer
  readonly columns: readonly FileColumn[]
  readonly chosen: Chosen
  /**
   * Columns whose values are yes and no, although their headers name free texts. They are left out at first. Key: index of the
   * column. Value: the property that its header names.
   */
  readonly mismatched: ReadonlyMap<number, ImportProperty>
  /** Language in which the values are written; empty: the API's notation. */
  readonly language: string
  readonly found: FoundNotation
}

/** Work that is under way, or has stopped. */
export type Doing =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'opening' | 'checking' | 'importing' | 'undoing'; readonly progress: Progress }
  /** The work has stopped. `faults`: sentences about rows that the server refuses. */
  | { readonly kind: 'stopped'; readonly problem: Problem; readonly faults: readonly string[] }

export interface ImportState {
  readonly opened: Opened | null
  /** Reason for which the file cannot be read; empty if it can be read, or if there is no file. */
  readonly fault: string
  /** Property that the reader has chosen to find stored rows by; empty: all rows are new; null: the page proposes a property. */
  readonly match: string | null
  readonly check: Check | null
  readonly doing: Doing
  /** Imports of this browser into the collection, the latest first. */
  readonly entries: readonly ImportEntry[]
  /** Result of the last undo. */
  readonly undone: Undone | null
}

const NOTHING: Doing = { kind: 'nothing' }
const START: ImportState = { opened: null, fault: '', match: null, check: null, doing: NOTHING, entries: [], undone: null }

/** Imports that were begun in this page, by session and collection. */
const works = new Map<string, ImportWork>()

/** Returns the session's import into a collection. The first call creates it. */
export function importWorkOf(resource: Resource, writable: Writable): ImportWork {
  const id = `${sessionStore.value.session?.id} ${resource.plural}`
  const work = works.get(id) ?? new ImportWork(resource, writable)
  works.set(id, work)
  return work
}

/** Stops all imports of this page, and forgets the stored imports of a session that ends. */
export function forgetWorks(sessionId: string): void {
  for (const work of works.values()) work.stop()
  works.clear()
  void forgetImports(sessionId)
}

export class ImportWork {
  readonly state = new Store<ImportState>(START)
  readonly choices: readonly Choice[]
  private reader: Reader | null = null
  private abort = new AbortController()

  constructor(
    readonly resource: Resource,
    readonly writable: Writable,
  ) {
    this.choices = choicesFor(resource, writable)
    void this.readEntries()
  }

  private set(parts: Partial<ImportState>): void {
    this.state.set({ ...this.state.value, ...parts })
  }

  private get sessionId(): string {
    return sessionStore.value.session?.id ?? ''
  }

  private async readEntries(): Promise<void> {
    this.set({ entries: await readImports(this.sessionId, this.resource.plural) })
  }

  /** True while a file is opened, or rows are checked, imported or undone. A new file is ignored meanwhile. */
  get isBusy(): boolean {
    const { kind } = this.state.value.doing
    return kind !== 'nothing' && kind !== 'stopped'
  }

  /** Closes the file without writing anything; ignored while work is under way. */
  close(): void {
    if (!this.isBusy) this.set({ opened: null, fault: '', match: null, check: null, doing: NOTHING })
  }

  /** Reads a file, and proposes what its columns are; ignored while work is under way. */
  async take(file: File): Promise<void> {
    if (this.isBusy) return
    this.set({
      ...START,
      entries: this.state.value.entries,
      doing: { kind: 'opening', progress: { done: 0, total: 0, waits: null } },
    })
    if (file.size > FILE_BYTES_MAX) return this.set({ fault: `${file.name} has more than 32 MB: divide it.`, doing: NOTHING })
    try {
      this.reader ??= await loadReader()
      await this.open(file.name, new Uint8Array(await file.arrayBuffer()), null)
    } catch (error) {
      this.set({ fault: `${file.name} cannot be read: ${this.reader?.wordsOf(error) ?? String(error)}`, doing: NOTHING })
    }
  }

  private async open(name: string, bytes: Uint8Array, encoding: string | null): Promise<void> {
    const file = await (this.reader as Reader).openFile(bytes, encoding)
    if (file.sheets.length === 0) return this.set({ fault: `${name} has no rows.`, doing: NOTHING })
    if (file.sheets.some(({ records }) => records.length > ROWS_MAX))
      return this.set({ fault: `${name} has more than ${formatCount(ROWS_MAX)} rows: divide it.`, doing: NOTHING })
    this.show({ name, bytes, file, sheet: 0 })
  }

  /** Shows a sheet, and proposes what its columns are. `headerIndex`: index of the record with the headers; null to find it. */
  private show(parts: Pick<Opened, 'name' | 'bytes' | 'file' | 'sheet'>, headerIndex: number | null = null): void {
    const reader = this.reader as Reader
    const records = parts.file.sheets[parts.sheet]?.records ?? []
    const header = reader.headerOf(records, this.choices, headerIndex)
    const below = reader.footerOf(records.slice(header.body))
    const footer = { count: below, isTaken: false }
    const rows = tableOf(records, header, footer)
    const columns = headersOf(header.names, rows)
    const isOwn = isOwnDownload(parts.file, columns, this.resource)
    const remembered = rememberedColumns(this.resource.plural)
    const mismatched = isOwn ? new Map() : reader.mismatchedColumns(columns, this.choices, remembered)
    const chosen = reader.proposeColumns(columns, this.choices, remembered, mismatched)
    const found = reader.findNotation(this.notated(rows, chosen), navigator.languages)
    const language = found.notation?.language ?? ''
    const { name, bytes, file, sheet } = parts
    const opened = { name, bytes, file, sheet, header, footer, columns, chosen, mismatched, language, found }
    this.set({ opened, fault: '', match: null, check: null, doing: NOTHING })
  }

  /** Returns the cells whose notation depends on the language, without placeholders such as N/A. */
  private notated(rows: readonly CsvRecord[], chosen: Chosen) {
    const cells = notatedCells(rows, chosen, this.choices)
    return cells.filter(({ text }) => this.reader?.isPlaceholder(text) !== true)
  }

  chooseSheet(sheet: number): void {
    const { opened } = this.state.value
    if (opened) this.show({ ...opened, sheet })
  }

  /** Takes the first record at this line or below it as the header. */
  chooseHeader(line: number): void {
    const { opened } = this.state.value
    const index = opened?.file.sheets[opened.sheet]?.records.findIndex((record) => record.line >= line) ?? -1
    if (opened && index >= 0) this.show(opened, index)
  }

  /** Imports the last records of the file as rows, or leaves them out. */
  takeFooter(isTaken: boolean): void {
    const { opened } = this.state.value
    if (opened) this.set({ opened: { ...opened, footer: { ...opened.footer, isTaken } }, match: null, check: null })
  }

  async chooseEncoding(encoding: string): Promise<void> {
    const { opened } = this.state.value
    if (!opened) return
    try {
      await this.open(opened.name, opened.bytes, encoding)
    } catch (error) {
      this.set({ fault: `${opened.name} cannot be read so: ${this.reader?.wordsOf(error) ?? String(error)}` })
    }
  }

  chooseLanguage(language: string): void {
    const { opened } = this.state.value
    if (opened) this.set({ opened: { ...opened, language, found: { ...opened.found, doubt: null } }, check: null })
  }

  /** Sets the choice for a column, and remembers it for the next file. If `value` is empty, the column is left out. */
  chooseColumn({ index, header }: FileColumn, value: string): void {
    const { opened } = this.state.value
    if (!opened) return
    if (header !== '') rememberColumn(this.resource.plural, (this.reader as Reader).plainHeader(header), value)
    const chosen = new Map(opened.chosen)
    if (value === '') chosen.delete(index)
    else chosen.set(index, value)
    const mismatched = new Map(opened.mismatched)
    mismatched.delete(index)
    const cells = this.notated(this.recordsOf(opened), chosen)
    const found = (this.reader as Reader).findNotation(cells, [opened.language, ...navigator.languages].filter(Boolean))
    const language = found.notation?.language ?? ''
    this.set({ opened: { ...opened, chosen, mismatched, found, language }, match: null, check: null })
  }

  /** Checks the file again, and finds stored rows by the property `match`. If `match` is empty, all rows are new. */
  chooseMatch(match: string): void {
    this.set({ match })
    void this.check()
  }

  /** Properties that two columns would set. */
  doubles(): readonly ImportProperty[] {
    const { opened } = this.state.value
    return opened ? doubleChoices(opened.chosen, this.choices) : []
  }

  /** The first rows as they would be stored. */
  preview(rows: number): readonly ImportRow[] {
    const { opened } = this.state.value
    if (!opened || !this.reader) return []
    const records = this.recordsOf(opened).slice(0, rows)
    return this.reader.readRows(records, this.readingOf(opened, new Map())).rows
  }

  private recordsOf({ file, sheet, header, footer }: Opened) {
    return tableOf(file.sheets[sheet]?.records ?? [], header, footer)
  }

  private readingOf(opened: Opened, references: RowReading['references']) {
    const { file, chosen, language, columns } = opened
    const choices = new Map(
      [...chosen].flatMap(([index, value]) => {
        const choice = this.choices.find((one) => one.value === value)
        return choice ? [[index, choice] as const] : []
      }),
    )
    return {
      unit: file.unit,
      notation: language === '' ? null : (this.reader as Reader).notationOf(language),
      isExcel: isOwnDownload(file, columns, this.resource),
      choices,
      references,
    }
  }

  /** Finds out what the import would do. */
  async check(): Promise<void> {
    const { opened, match } = this.state.value
    const { reader } = this
    if (!opened || !reader || this.isBusy) return
    await this.run('checking', async (watch) => {
      const check = await checkImport(
        {
          reader,
          resource: this.resource,
          writable: this.writable,
          records: this.recordsOf(opened),
          columns: opened.columns,
          readingOf: (references) => this.readingOf(opened, references),
          match,
        },
        watch,
      )
      // If the columns were changed meanwhile, the result does not fit them, and is dropped.
      this.set(this.state.value.opened === opened ? { check, doing: NOTHING } : { doing: NOTHING })
    })
  }

  /** Begins the import that was checked. `takesAll`: also creates rows that equal a stored row, or are similar to one. */
  async start(takesAll: boolean): Promise<void> {
    const { opened, check } = this.state.value
    if (!opened || !check || this.isBusy) return
    const leftOut = new Set(takesAll ? [] : [...check.near, ...check.twins].map(({ at }) => at))
    const created = check.created.filter(({ at }) => !leftOut.has(at))
    const { name } = opened
    this.set({ opened: null, check: null })
    await this.run('importing', async (watch) => {
      const { sessionId, writable } = this
      const planned = { sessionId, plural: this.resource.plural, file: name, writable, created, changed: check.changed }
      await this.send(await keepSteps(planned), watch)
    })
    await this.readEntries()
  }

  /** Continues an import: sends the steps that are still open. */
  async resume(entry: ImportEntry): Promise<void> {
    this.set({ check: null })
    await this.run('importing', (watch) => this.send(entry, watch))
    await this.readEntries()
  }

  private async send(entry: ImportEntry, watch: Watch): Promise<void> {
    const { created, changed } = await runImport(entry, this.resource, watch)
    this.set({ doing: NOTHING })
    announce(`${entry.file} was imported: ${created} created, ${changed} changed.`)
  }

  async undo(entry: ImportEntry): Promise<void> {
    // After an undo, the result of a check would be out of date.
    this.set({ check: null })
    await this.run('undoing', async (watch) => {
      const undone = await undoImport(entry, this.resource, watch)
      this.set({ undone, doing: NOTHING })
      announce(`The import of ${entry.file} was undone: ${undone.deleted} deleted, ${undone.restored} changed back.`)
    })
    await this.readEntries()
  }

  async forget(entry: ImportEntry): Promise<void> {
    await forgetImport(entry.id)
    await this.readEntries()
  }

  /** Stops the work that is under way. A stopped import can continue later. */
  stop(): void {
    this.abort.abort()
  }

  private async run(kind: 'checking' | 'importing' | 'undoing', work: (watch: Watch) => Promise<void>): Promise<void> {
    if (this.isBusy) return
    this.abort = new AbortController()
    let progress: Progress = { done: 0, total: 0, waits: null }
    const show = (parts: Partial<Progress>) => {
      progress = { ...progress, ...parts }
      this.set({ doing: { kind, progress } })
    }
    show({})
    this.set({ undone: null })
    const { signal } = this.abort
    try {
      await work({ signal, show, sessionId: this.sessionId })
    } catch (error) {
      if (signal.aborted) this.set({ doing: NOTHING })
      else this.set({ doing: await stopped(error) })
      // Rows may have been written before the work stopped, so lists are read again.
      if (kind !== 'checking') announce('')
    }
  }
}

const TOO_LATE =
  'The last rows of this import were sent more than a day ago, and it is not known whether they were created. Choose the file again: rows that are there are found.'

/** Returns the state after an error: why the work has stopped. */
async function stopped(error: unknown): Promise<Doing> {
  if (error instanceof TooLate) return { kind: 'stopped', problem: new Problem(TOO_LATE), faults: [] }
  if (!(error instanceof StepRefused)) return { kind: 'stopped', problem: inWordsOf(problemOf(error)), faults: [] }
  const { step, problem } = error
  const places = step.kind === 'create' ? step.places : [step.at]
  const { wordsOfFaults } = await loadReader()
  const words = `The server does not take ${placesInWords(places)}. What was done before stays.`
  return { kind: 'stopped', problem: new Problem(words), faults: wordsOfFaults(rowFaults(problem, places), new Map()) }
}
