// The record of an import: what it sent and created, and what it changed, so that it can be continued and undone.
import {
  appendFileSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
  unlinkSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { errorOf } from '../errors.ts'
import type { JsonNumber } from '../model/kinds.ts'
import { tryLock } from '../os/libc.ts'
import { parseJson } from '../parse/body.ts'
import { CommandError } from './run.ts'

/** Age in days from which records are deleted. */
export const KEPT_DAYS = 30
const DAY_MS = 86_400_000
/**
 * Time in ms for which an import can repeat a request: servers repeat their response to an Idempotency-Key for at least a day.
 */
const REPEATABLE_MS = 23 * 3_600_000
/** Maximum size of a record, in bytes. An import whose record is full continues, but the rows that follow cannot be undone. */
const JOURNAL_BYTES_MAX = 512 * 1024 * 1024
const ENDING = '.ndjson'

/** The file of an import, and its target. */
export interface ImportOrigin {
  /** Plural name of the entity. */
  readonly plural: string
  /** URL of the server, without a slash at its end. */
  readonly url: string
  /** Path of the file; null: stdin. */
  readonly path: string | null
  /**
   * Text that stands for the file in Idempotency-Keys, the same in all runs over the file. Null: Idempotency-Keys are hashes of
   * the rows.
   */
  readonly keyName: string | null
  /** Time of the first run, as `2026-11-29T14:15:02.123Z`. */
  readonly begun: string
}

/** Changes of one row. Values are texts as PostgreSQL prints them; null: no value. */
export interface RecordedChange {
  readonly at: string
  readonly id: string
  readonly values: readonly (readonly [property: string, before: string | null, after: string | null])[]
}

interface Pending {
  readonly places: string
  readonly body: string
  readonly sentMs: number
}

/** An import as the first and the last lines of its record describe it. */
export interface ImportSummary extends ImportOrigin {
  readonly id: string
  readonly isEnded: boolean
  /** Number of rows and values that an undo has left as they were; null if the import was not undone. */
  readonly left: number | null
}

/** Content of a whole record. */
export interface ImportRecord extends ImportSummary {
  /** Created rows as the server returned them, by their ids. */
  readonly created: ReadonlyMap<string, unknown>
  /** Ids of the created rows, in one list for each request that created rows. */
  readonly createdTogether: readonly (readonly string[])[]
  readonly changes: readonly RecordedChange[]
  /** Rows of requests whose outcome is unknown, by Idempotency-Key: the server may have created them. */
  readonly pending: ReadonlyMap<string, Pending>
  /** True if the record grew too large to contain the whole import. */
  readonly isFull: boolean
  /** Number of created rows whose ids the API key has no right to read. */
  readonly hiddenIds: number
}

/** Returns the folder of records in the user's data folder. Returns null if the user has no data folder. */
export function journalFolder(environment: Readonly<Record<string, string | undefined>>): string | null {
  const home = environment.HOME || homedir()
  const own = environment.XDG_DATA_HOME
  if (own?.startsWith('/')) return join(own, 'roster', 'imports')
  if (!home) return null
  return process.platform === 'darwin'
    ? join(home, 'Library', 'Application Support', 'roster', 'imports')
    : join(home, '.local', 'share', 'roster', 'imports')
}

/** Thrown if another process writes to the record. */
export class ImportRuns extends CommandError {}

/** Record that an import writes. Rows and changes are on the disk before the request that sends them. */
export class ImportJournal implements Disposable {
  private bytes: number

  private constructor(
    readonly folder: string,
    readonly id: string,
    private readonly descriptor: number,
    private readonly lock: { release(): void },
  ) {
    this.bytes = statSync(this.path).size
  }

  get path(): string {
    return join(this.folder, this.id + ENDING)
  }

  /**
   * Opens the record of the import `continued`, to add to it. If `continued` is null, creates a record. @throws ImportRuns, or
   * CommandError if the record cannot be written
   */
  static open(folder: string, origin: ImportOrigin, continued: ImportSummary | null): ImportJournal {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      const id = continued?.id ?? newId(origin.begun)
      const lock = tryLock(join(folder, id + ENDING))
      if (lock === null) throw new ImportRuns('this import runs already in another process')
      const journal = new ImportJournal(folder, id, openSync(join(folder, id + ENDING), 'a', 0o600), lock)
      if (continued === null) journal.add({ import: origin })
      return journal
    } catch (error) {
      if (error instanceof CommandError) throw error
      throw new CommandError(`the record for --undo cannot be written: ${errorOf(error).message}`)
    }
  }

  /** Records the rows of a request before it is sent. `places`: first and last row, for messages. */
  addPending(key: string, places: string, body: string): void {
    this.add({ pending: key, places, body, sentMs: Date.now() })
  }

  /** Records the rows of a request as the server has returned them. `text`: body of the response. */
  addCreated(key: string, text: string): void {
    // The rows stay as the server wrote them, so that numbers keep all digits. A line feed in JSON is always outside of strings,
    // so it can be removed.
    this.addLine(`{"created":${JSON.stringify(key)},"rows":${text.replaceAll('\n', '')}}`)
  }

  /**
   * Records that the server refused a request. `isOther`: true if an earlier run sent other rows with this Idempotency-Key; the
   * server may have created those rows.
   */
  addRefused(key: string, isOther: boolean): void {
    this.add({ refused: key, isOther })
  }

  /** Records changes before they are made. */
  addChanges(changes: readonly RecordedChange[]): void {
    for (let at = 0; at < changes.length; at += 1_000) this.add({ changes: changes.slice(at, at + 1_000) })
  }

  /** Records that the import is complete. */
  end(): void {
    this.add({ ended: true })
  }

  /** Records that the import was undone. `left`: number of rows and values that the undo has left as they were. */
  endUndo(left: number): void {
    this.add({ undone: left })
  }

  [Symbol.dispose](): void {
    closeSync(this.descriptor)
    this.lock.release()
  }

  private add(entry: object): void {
    this.addLine(JSON.stringify(entry))
  }

  private addLine(text: string): void {
    const line = `${text}\n`
    const isSmall = line.length < 1_000
    if (this.bytes > JOURNAL_BYTES_MAX && !isSmall) return
    this.bytes += Buffer.byteLength(line)
    try {
      // The entry begins with a line feed, because a process that was killed can have left an incomplete last line.
      appendFileSync(this.descriptor, this.bytes > JOURNAL_BYTES_MAX && !isSmall ? '\n{"full":true}\n' : `\n${line}`)
      fsyncSync(this.descriptor)
    } catch (error) {
      throw new CommandError(`the record for --undo cannot be written: ${errorOf(error).message}`)
    }
  }
}

/** Returns an id such as `20261129-141502123-5f1c`, so that records sort by time. */
function newId(begun: string): string {
  return `${begun.replace(/[-:.Z]/g, '').replace('T', '-')}-${crypto.randomUUID().slice(0, 4)}`
}

/** Returns the imports that a folder has records of, the latest first. Deletes records that are too old. */
export function listJournals(folder: string): ImportSummary[] {
  const summaries: ImportSummary[] = []
  for (const name of filesOf(folder).sort().reverse()) {
    const path = join(folder, name)
    const { mtimeMs, size } = statSync(path)
    if (Date.now() - mtimeMs > KEPT_DAYS * DAY_MS) {
      unlinkSync(path)
      continue
    }
    const ends = `${textAt(path, 0)}\n${textAt(path, Math.max(0, size - END_BYTES))}`
    const record = recordOf(name.slice(0, -ENDING.length), ends)
    if (record !== null) summaries.push(record)
  }
  return summaries
}

/** Number of bytes to read at the beginning and at the end of a record: they contain what `listJournals` needs. */
const END_BYTES = 16 * 1024

function textAt(path: string, position: number): string {
  const descriptor = openSync(path, 'r')
  try {
    const bytes = new Uint8Array(END_BYTES)
    return new TextDecoder().decode(bytes.subarray(0, readSync(descriptor, bytes, 0, END_BYTES, position)))
  } finally {
    closeSync(descriptor)
  }
}

/** Reads a whole record. @throws CommandError if it cannot be read */
export function readJournal(folder: string, id: string): ImportRecord {
  const path = join(folder, id + ENDING)
  try {
    const record = recordOf(id, readFileSync(path, 'utf8'))
    if (record !== null) return record
  } catch (error) {
    throw new CommandError(`${path} cannot be read: ${errorOf(error).message}`)
  }
  throw new CommandError(`${path} is no record of an import`)
}

function filesOf(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(ENDING))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw new CommandError(`the records of imports cannot be read: ${errorOf(error).message}`)
  }
}

interface Entry {
  readonly import?: ImportOrigin
  readonly pending?: string
  readonly places?: string
  readonly body?: string
  readonly sentMs?: number
  readonly created?: string
  readonly rows?: readonly { readonly id?: JsonNumber }[]
  readonly refused?: string
  readonly isOther?: boolean
  readonly changes?: readonly RecordedChange[]
  readonly ended?: true
  readonly undone?: number
  readonly full?: true
}

/** Returns the record that a text contains; null if the text lacks the first line, which names the file and the server. */
function recordOf(id: string, text: string): ImportRecord | null {
  let origin: ImportOrigin | null = null
  const created = new Map<string, unknown>()
  const createdTogether: string[][] = []
  const changes: RecordedChange[] = []
  const pending = new Map<string, Pending[]>()
  const state = { isEnded: false, left: null as number | null, isFull: false, hiddenIds: 0 }
  for (const entry of entriesOf(text)) {
    origin ??= entry.import ?? null
    if (entry.pending !== undefined) {
      const { places = '', body = '', sentMs = 0 } = entry
      pending.getOrInsert(entry.pending, []).push({ places, body, sentMs })
      state.isEnded = false
    }
    if (entry.refused !== undefined) {
      if (entry.isOther) pending.get(entry.refused)?.pop()
      else pending.delete(entry.refused)
    }
    if (entry.created !== undefined) pending.delete(entry.created)
    const ids: string[] = []
    for (const row of entry.rows ?? []) {
      if (!row.id) {
        state.hiddenIds++
        continue
      }
      // An import that is continued repeats requests, and gets the same rows again.
      if (!created.has(row.id.source)) ids.push(row.id.source)
      created.set(row.id.source, row)
    }
    if (ids.length > 0) createdTogether.push(ids)
    changes.push(...(entry.changes ?? []))
    if (entry.changes) state.isEnded = false
    if (entry.ended) state.isEnded = true
    if (entry.undone !== undefined) state.left = entry.undone
    if (entry.full) state.isFull = true
  }
  const last = [...pending].flatMap(([key, sent]) => (sent.at(-1) ? [[key, sent.at(-1) as Pending] as const] : []))
  return origin && { ...origin, id, created, createdTogether, changes, pending: new Map(last), ...state }
}

/** Yields the entries of complete lines: a process that was killed can have left an incomplete line. */
function* entriesOf(text: string): Generator<Entry> {
  for (const line of text.split('\n')) {
    if (line === '') continue
    try {
      yield (line.startsWith('{"created"') ? parseJson(line) : JSON.parse(line)) as Entry
    } catch {
      // The entry is incomplete. Its request was not sent, or remains pending because its response was not recorded.
    }
  }
}

/** Returns whether the server still repeats its response if the request is sent again. */
export function isRepeatable({ sentMs }: Pick<Pending, 'sentMs'>): boolean {
  return Date.now() - sentMs < REPEATABLE_MS
}

/**
 * Returns whether a record belongs to an import of the same file that began within the last 23 hours and was not undone. Servers
 * still repeat their responses to the requests of such an import.
 */
export function isRecent(record: ImportSummary, { plural, path }: Pick<ImportOrigin, 'plural' | 'path'>): boolean {
  const isSame = record.plural === plural && record.path === path && path !== null
  return isSame && record.left === null && Date.now() - Date.parse(record.begun) < REPEATABLE_MS
}
