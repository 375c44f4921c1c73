import type { Row } from '../model/sql.ts'
import { type Change, RESET } from './change.ts'
import { HeldCommits } from './heldCommits.ts'
import { hasImages, type PgoutputHandlers, type Relation, readImages, type Tuple, valueIn } from './pgoutput.ts'
import type { Snapshot } from './snapshot.ts'

/** A table of ours, as its rows are published. */
export interface FedTable {
  readonly table: string
  /** In the order in which a row has their values. */
  readonly columns: readonly string[]
}

export interface FeedHandlers {
  /** The machine whose writes are known already. */
  readonly machine: string
  /** `isLast`: no other row of its transaction follows, of any table. */
  onRow(table: string, change: Change, isLast: boolean): void
  onReset(table: string): void
  /** All that a transaction of this machine has changed beside the rows that its statement returned is published. */
  onFollowed(transaction: number): void
  /** All that was committed before this position of the log is published. */
  onPosition(position: bigint): void
}

/** What a write of ours says in the log, behind each of its rows: see `compile/written.ts`. */
const PREFIX = 'roster'
const RENAMED = 'renamed'
/** So many rows of one transaction are published one by one; with more, their tables are reset. */
const ROWS_MAX = 1_000

/** How rows of a relation become rows of a table of ours; null places: a column is missing. */
interface Known {
  readonly definition: string
  readonly table: string
  readonly places: readonly number[] | null
  readonly id: number
}

interface Entry {
  readonly relation: number
  readonly table: string
  readonly known: Known | null
  /** The message that has its images; null: a reset of the table. */
  readonly bytes: Buffer | null
}

/**
 * Makes row changes of what a logical slot streams, one transaction after the other, and gives them away once they may be
 * seen. Rows that a statement of this machine has returned are published by the process that sent it, so they are left out;
 * whatever else its transaction has done, by cascades or triggers of operators, is published.
 */
export class SlotFeed implements PgoutputHandlers {
  private readonly relations = new Map<number, Known>()
  private readonly held: HeldCommits
  /** The position up to which the stream was read. */
  private read = 0n
  private transaction = 0
  private entries: Entry[] = []
  /** Tables of a transaction with too many rows; null: of one that has not. */
  private tables: Set<string> | null = null
  private isOwn = false
  private isRename = false

  /** `tables`: by the oid of their relation. `newest`: a transaction that has begun, of which others are near. */
  constructor(
    private readonly fed: ReadonlyMap<number, FedTable>,
    private newest: number,
    private readonly handlers: FeedHandlers,
    look: () => Promise<Snapshot>,
    onFault: (error: Error) => void,
  ) {
    this.held = new HeldCommits(look, () => this.notePosition(), onFault)
  }

  /** How far the stream was read; of what lies before, `held` is what is not published. */
  get position(): bigint {
    return this.read
  }

  reach(position: bigint): void {
    if (position > this.read) this.read = position
  }

  /** Nothing more has come for now: looks whether what has come may be seen. */
  rest(): void {
    this.held.lookOn()
    this.notePosition()
  }

  /** Tells of what this snapshot sees. */
  release(snapshot: Snapshot): void {
    this.held.release(snapshot)
  }

  end(): void {
    this.held.end()
  }

  begin(transaction: number): void {
    // The stream has the lower half; transactions that are under way differ by less than 2^31.
    this.transaction = this.newest + ((transaction - this.newest) | 0)
    this.entries = []
    this.tables = null
    this.isOwn = false
    this.isRename = false
  }

  commit(end: bigint): void {
    const { transaction, entries, tables, isOwn, isRename, handlers } = this
    this.newest = transaction
    if (end > this.read) this.read = end
    if (entries.length === 0 && tables === null && !isRename) return
    const changes = entries.map((entry) => ({ table: entry.table, change: changeIn(entry) }))
    const publish = () => {
      if (tables !== null) for (const table of tables) handlers.onReset(table)
      changes.forEach(({ table, change }, index) => {
        if (change === RESET) handlers.onReset(table)
        else handlers.onRow(table, { transaction, ...change }, !isOwn && index === changes.length - 1)
      })
      // Also where no row has said so: a statement of this machine has the last one, or a reset was the last.
      if (isRename || (changes.length > 0 && (isOwn || changes.at(-1)?.change === RESET)))
        handlers.onFollowed(transaction)
    }
    this.entries = []
    this.held.add({ transaction, end, publish })
  }

  message(prefix: string, content: string): void {
    if (prefix !== PREFIX) return
    const [machine, relation, id, what] = content.split(' ')
    if (machine !== this.handlers.machine) return
    this.isOwn = true
    if (what === RENAMED) this.isRename = true
    const last = this.entries.at(-1)
    // Its images are not read: under load most rows are own ones.
    if (this.tables === null && last?.relation === Number(relation) && idOf(last) === id) this.entries.pop()
    else this.reset(Number(relation))
  }

  relation({ id, columns, definition }: Relation): void {
    const fed = this.fed.get(id)
    const before = this.relations.get(id)
    // PostgreSQL announces it again after each look of its own at the table.
    if (fed === undefined || before?.definition === definition) return
    if (before !== undefined) this.reset(id)
    const places = fed.columns.map((column) => columns.indexOf(column))
    const known = { definition, table: fed.table, id: columns.indexOf('id') }
    this.relations.set(id, { ...known, places: places.includes(-1) ? null : places })
  }

  row(relation: number, bytes: Buffer): void {
    const known = this.relations.get(relation)
    if (!hasImages(bytes)) this.reset(relation)
    else if (known !== undefined) this.add({ relation, table: known.table, known, bytes })
  }

  truncate(relations: readonly number[]): void {
    for (const relation of relations) this.reset(relation)
  }

  private reset(relation: number) {
    const fed = this.fed.get(relation)
    if (fed !== undefined) this.add({ relation, table: fed.table, known: null, bytes: null })
  }

  private add(entry: Entry) {
    if (this.tables === null && this.entries.length < ROWS_MAX) this.entries.push(entry)
    else {
      this.tables ??= new Set(this.entries.map(({ table }) => table))
      this.entries = []
      this.tables.add(entry.table)
    }
  }

  private notePosition() {
    const { first } = this.held
    this.handlers.onPosition(first === null ? this.read : first - 1n)
  }
}

/** The id that its row had, or has now where it is new. */
function idOf({ bytes, known }: Entry): string | null {
  return bytes === null || known === null || known.id < 0 ? null : valueIn(bytes, known.id)
}

function changeIn({ bytes, known }: Entry): Pick<Change, 'before' | 'after'> | typeof RESET {
  if (bytes === null || !known?.places) return RESET
  const { places } = known
  const { before, after } = readImages(bytes)
  return { before: before && rowOf(places, before, null), after: after && rowOf(places, after, before) }
}

/** Values that were not sent are those of `before`. */
function rowOf(places: readonly number[], tuple: Tuple, before: Tuple | null): Row {
  return places.map((place) => {
    const value = tuple[place]
    return value === undefined ? (before?.[place] ?? null) : value
  })
}
