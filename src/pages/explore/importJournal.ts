// Journal of imports in the browser's IndexedDB: what each import has sent and changed. With the journal, an import can continue
// after the page was closed, and can be undone.
import type { Filter } from './view.ts'

/** An import that was begun in this browser. */
export interface ImportEntry {
  readonly id: string
  /** Session that has begun the import. Only this session can continue or undo the import. */
  readonly sessionId: string
  readonly plural: string
  /** Name of the file. */
  readonly file: string
  readonly begunMs: number
  readonly created: number
  readonly changed: number
  /**
   * Filters that find exactly the rows that the import has created. Null: the import is not finished, has created no rows, or has
   * created too many rows to name them in an address.
   */
  readonly filters: readonly Filter[] | null
  /** `open`: there is more to send. `undoing`: there is more to undo. */
  readonly state: 'open' | 'done' | 'undoing' | 'undone'
}

/** Rows that are created by one request, all or none. */
export interface CreateStep {
  readonly kind: 'create'
  readonly importId: string
  readonly index: number
  /** `Idempotency-Key` of the request. */
  readonly key: string
  readonly body: string
  /** Positions of the rows in the file, such as `line 12`. */
  readonly places: readonly string[]
  /** Time at which the request was sent first; null: it was not sent yet. */
  readonly sentMs: number | null
  /** JSON of the rows as the server created them; null: there is no answer yet. */
  readonly made: string | null
}

/** A change of one value. `before` and `after` are JSON. */
export interface Change {
  readonly name: string
  readonly label: string
  readonly before: string
  readonly after: string
}

/** Changes of one row. */
export interface ChangeStep {
  readonly kind: 'change'
  readonly importId: string
  readonly index: number
  readonly at: string
  readonly rowId: string
  readonly changes: readonly Change[]
  /** Changes that were made. A value that somebody else has changed meanwhile is left out. Null: the step has no result yet. */
  readonly made: readonly Change[] | null
}

export type Step = CreateStep | ChangeStep

/** Age at which imports are forgotten, in ms. */
const KEPT_MS = 7 * 86_400_000
const ENTRIES = 'imports'
const STEPS = 'steps'

let opened: Promise<IDBDatabase | null> | null = null
/** Records that the browser could not store: they last until the page is left. */
const unkept = { entries: new Map<string, ImportEntry>(), steps: new Map<string, Step>() }

function open(): Promise<IDBDatabase | null> {
  opened ??= new Promise((done) => {
    try {
      const request = indexedDB.open('roster', 1)
      request.onupgradeneeded = () => {
        request.result.createObjectStore(ENTRIES, { keyPath: 'id' })
        request.result.createObjectStore(STEPS, { keyPath: ['importId', 'index'] })
      }
      request.onsuccess = () => done(request.result)
      request.onerror = () => done(null)
      request.onblocked = () => done(null)
    } catch {
      // A browser that blocks storage throws an error.
      done(null)
    }
  })
  return opened
}

/**
 * Runs a transaction to its end, and returns the result of the request that `use` returns. Returns null if `use` returns null, or
 * if the browser cannot do the transaction.
 */
async function transact<T>(
  mode: IDBTransactionMode,
  use: (entries: IDBObjectStore, steps: IDBObjectStore) => IDBRequest<T> | null,
): Promise<T | null> {
  const database = await open()
  if (database === null) return null
  return new Promise((done) => {
    try {
      const transaction = database.transaction([ENTRIES, STEPS], mode)
      const request = use(transaction.objectStore(ENTRIES), transaction.objectStore(STEPS))
      transaction.oncomplete = () => done(request?.result ?? null)
      transaction.onerror = () => done(null)
      transaction.onabort = () => done(null)
    } catch {
      done(null)
    }
  })
}

const stepKey = ({ importId, index }: Step) => `${importId} ${index}`
const ofImport = (id: string) => IDBKeyRange.bound([id], [id, []])

/**
 * Stores an import, and some of its steps. Returns false if the browser cannot store them: then they last only until the page is
 * left.
 */
export async function keepImport(entry: ImportEntry, steps: readonly Step[] = []): Promise<boolean> {
  const kept = await transact('readwrite', (entries, store) => {
    for (const step of steps) store.put(step)
    return entries.put(entry)
  })
  if (kept !== null) return true
  unkept.entries.set(entry.id, entry)
  for (const step of steps) unkept.steps.set(stepKey(step), step)
  return false
}

/** Returns the imports of a session into a collection, the latest first. Forgets all imports older than `KEPT_MS`. */
export async function readImports(sessionId: string, plural: string): Promise<readonly ImportEntry[]> {
  const all = [...((await transact<ImportEntry[]>('readonly', (entries) => entries.getAll())) ?? []), ...unkept.entries.values()]
  for (const { id, begunMs } of all) if (begunMs < Date.now() - KEPT_MS) await forgetImport(id)
  const own = all.filter((entry) => entry.sessionId === sessionId && entry.plural === plural)
  return own.filter(({ begunMs }) => begunMs >= Date.now() - KEPT_MS).sort((one, other) => other.begunMs - one.begunMs)
}

/** Returns the steps of an import in their order. */
export async function readSteps(id: string): Promise<readonly Step[]> {
  const own = [...unkept.steps.values()].filter(({ importId }) => importId === id)
  const kept = own.length > 0 ? null : await transact<Step[]>('readonly', (_, steps) => steps.getAll(ofImport(id)))
  return (kept ?? own).toSorted((one, other) => one.index - other.index)
}

/** Forgets an import, which then can neither continue nor be undone. */
export async function forgetImport(id: string): Promise<void> {
  unkept.entries.delete(id)
  for (const [key, { importId }] of unkept.steps) if (importId === id) unkept.steps.delete(key)
  await transact('readwrite', (entries, steps) => {
    steps.delete(ofImport(id))
    entries.delete(id)
    return null
  })
}

/** Forgets all imports of a session, and all imports that the browser could not store. */
export async function forgetImports(sessionId: string): Promise<void> {
  unkept.entries.clear()
  unkept.steps.clear()
  await transact('readwrite', (entries, steps) => {
    const all: IDBRequest<ImportEntry[]> = entries.getAll()
    // Deletes all in one transaction, which the browser finishes even if the page is left.
    all.onsuccess = () => {
      for (const { id } of all.result.filter((entry) => entry.sessionId === sessionId)) {
        steps.delete(ofImport(id))
        entries.delete(id)
      }
    }
    return null
  })
}
