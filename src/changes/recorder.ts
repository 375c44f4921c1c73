import type { WriteObserver } from '../execute/work.ts'
import { copiedProperties } from '../model/copies.ts'
import type { Entity } from '../model/entity.ts'
import type { Row } from '../model/sql.ts'
import { type FlagWriter, tableBit } from './inFlight.ts'
import type { ChangePublisher } from './publisher.ts'
import type { InFlightWrites } from './settling.ts'

/** Rows as they were and are, in what a statement returned for one of them. */
type Read = (row: Row) => [before: Row | null, after: Row | null]

/** A quarter of a ring, or less: more could overtake its readers, who would have lost changes of all tables then. */
const ROWS_LENGTH_MAX = 64 * 1024

/** Records one entity's writes for all processes: a flag while a write is in flight, and its outcome in the change log. */
export class WriteRecorder {
  private readonly width: number
  /** Places of the properties that other rows copy, and the tableMask of those rows. */
  private readonly copied: readonly number[]
  private readonly copying: readonly string[]
  /** Bits of the entity's own table, and of those too that a rename reaches. */
  private readonly own: number
  private readonly reached: number

  constructor(
    private readonly entity: Entity,
    entities: readonly Entity[],
    private readonly publisher: ChangePublisher,
    private readonly flags: FlagWriter,
    private readonly inFlight: Pick<InFlightWrites, 'followed'>,
  ) {
    const { properties } = entity
    this.width = properties.length
    this.copied = copiedProperties(entity, entities).map((property) => properties.indexOf(property))
    const copying = copyingOf(entity, entities)
    this.copying = copying.map((other) => other.table)
    this.own = tableMask(entities, [entity])
    this.reached = tableMask(entities, [entity, ...copying])
  }

  /** For `compileCreate`. */
  readonly create = () => this.observe(this.own, (row) => [null, this.part(row, 0)])

  /** For `compileCreateRows`. */
  readonly createRows = () => this.observe(this.own, (row) => [null, this.part(row, 0)], ROWS_LENGTH_MAX)

  /** For `compileUpdate` of what no other row copies. */
  readonly update = () => this.observe(this.own, (row) => [this.part(row, 1), this.part(row, 0)])

  /** For `compileUpdate` of what other rows copy. */
  readonly rename = () => this.observe(this.reached, (row) => [this.part(row, 1), this.part(row, 0)])

  /** For `compileRemove`. */
  readonly remove = () => this.observe(this.own, (row) => [this.part(row, 0), null])

  /** `lengthMax`: rows of more characters are published as a reset of their table. */
  private observe(tableMask: number, read: Read, lengthMax = Number.POSITIVE_INFINITY): WriteObserver {
    const { epoch } = this.publisher
    const write = this.flags.begin(tableMask)
    return {
      identify: write.identify,
      settle: (rows) => {
        const isRename = rows !== null && tableMask !== this.own && rows.some((row) => this.isRenamed(read(row)))
        if (isRename && this.publisher.isFed) return this.recordBehindCopies(rows, read, epoch).finally(write.end)
        try {
          // The database has changed the copies along with them; published first, so that no total shows a row without them.
          if (isRename) this.publishCopies()
          if (rows === null) this.publishReset(tableMask)
          else if (lengthMax < lengthOf(rows)) this.recordReset(rows.at(-1) as Row, read, epoch)
          else this.record(rows, read, epoch)
        } finally {
          write.end()
        }
      },
    }
  }

  /**
   * Where the database's log is read, the rows that have copied the name come from there, one by one; they are published before
   * the name, so that no total shows it without them.
   */
  private async recordBehindCopies(rows: readonly Row[], read: Read, epoch: number) {
    const transaction = this.transactionOf(rows[0] as Row, read)
    if (!(await this.inFlight.followed(transaction))) this.publishCopies()
    this.record(rows, read, epoch)
  }

  private record(rows: readonly Row[], read: Read, epoch: number) {
    for (let index = 0; index < rows.length; index++) {
      const row = rows[index] as Row
      const [before, after] = read(row)
      const transaction = this.transactionOf(row, read)
      this.publisher.publish(this.entity.table, { transaction, before, after }, epoch, index === rows.length - 1)
    }
  }

  /** Instead of all rows of a transaction; its last one says that it is published. */
  private recordReset(last: Row, read: Read, epoch: number) {
    this.publisher.publishReset(this.entity.table)
    this.record([last], read, epoch)
  }

  private transactionOf(row: Row, read: Read): number {
    const [before, after] = read(row)
    return Number(row[(Number(before !== null) + Number(after !== null)) * this.width])
  }

  private isRenamed([before, after]: ReturnType<Read>): boolean {
    return this.copied.some((place) => before?.[place] !== after?.[place])
  }

  private publishReset(tableMask: number) {
    this.publisher.publishReset(this.entity.table)
    if (tableMask !== this.own) this.publishCopies()
  }

  private publishCopies() {
    for (const table of this.copying) this.publisher.publishReset(table)
  }

  private part(row: Row, index: number): Row {
    return row.slice(index * this.width, (index + 1) * this.width)
  }
}

function lengthOf(rows: readonly Row[]): number {
  let length = 0
  for (const row of rows) for (const value of row) length += 4 + (value === null ? 0 : value.length)
  return length
}

/** Whose rows copy from the entity's, and whose copy from those. */
function copyingOf(entity: Entity, entities: readonly Entity[]): Entity[] {
  const found = new Set<Entity>()
  const add = ({ table }: Entity) => {
    for (const other of entities) {
      const isCopying = other.properties.some(({ reference }) => reference?.copy && reference.table === table)
      if (!isCopying || found.has(other)) continue
      found.add(other)
      add(other)
    }
  }
  add(entity)
  return [...found]
}

/** Which tableMask a write may change, or a list is of; every process has the same entities in the same order. */
export function tableMask(all: readonly Entity[], some: readonly Entity[]): number {
  return some.reduce((bits, entity) => bits | tableBit(all.indexOf(entity)), 0)
}
