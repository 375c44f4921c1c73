// Moves copies of several tables to one snapshot by a joint question, which asks about all these tables.
import type { Reader } from '../columns/collation.ts'
import { count, seriesOf } from '../metrics/counts.ts'
import type { Row, Statement } from '../model/sql.ts'
import { withDeadline, yieldEvery } from '../os/time.ts'
import { type AskedTable, compileJointQuestion, compileJointRows } from './jointStatements.ts'
import { APPLY_MS, type TableCopy } from './tableCopy.ts'

/**
 * Maximum time to wait for a statement of a joint question. It is short, because the lists of all tables of the question wait for
 * it.
 */
const JOINT_MS_MAX = 500
const QUESTIONS = seriesOf('questions')

/** Answer of PostgreSQL about one table. */
interface TableAnswer {
  readonly copy: TableCopy
  readonly state: string | null | undefined
  readonly keptFrom: string | null | undefined
  /** True if more rows have changed than a joint question reads. */
  readonly isWhole: boolean
  /** Changed rows. They have no values if the statement did not read the table. */
  readonly changes: readonly { readonly id: string; readonly values: Row }[]
}

/** Indexes of the columns of `compileJointRows`. The first three columns of `compileJointQuestion` are the same. */
const SNAPSHOT = 0
const STATE = 1
const KEPT_FROM = 2
const TABLE = 3
const IS_WHOLE = 4
const ID = 5
const VALUES = 6

/**
 * Moves the copies to one snapshot, which is taken after this call. If a copy can no longer be kept current, it ends, and the
 * other copies are moved. Returns the copies that each need a statement of their own, because too many of their rows have
 * changed. Call it only while no other call moves these copies. @throws errors of the statements; then no copy has moved
 */
export async function moveTogether(copies: readonly TableCopy[], reader: Reader): Promise<readonly TableCopy[]> {
  count(QUESTIONS)
  const nowMs = performance.now()
  const asksDefinition = copies.some((copy) => copy.isDefinitionDue(nowMs))
  const answers = await ask(reader, compileJointQuestion(copies.map(askedTableOf), asksDefinition))
  const kept: TableCopy[] = []
  const changed: TableCopy[] = []
  copies.forEach((copy, index) => {
    const [, state, keptFrom, isChanged, definition] = answers[index] as Row
    const isKept = keeps(copy, () => {
      copy.requireSame(state, keptFrom)
      if (asksDefinition) copy.requireDefinition(definition, nowMs)
    })
    if (isKept) kept.push(copy)
    if (isKept && isChanged === '1') changed.push(copy)
  })
  if (changed.length > 0) return moveByRows(kept, changed, reader)
  for (const copy of kept) copy.moveTo(answers[0]?.[SNAPSHOT] as string)
  return []
}

/**
 * Reads the changed rows of the copies in `changed`, and moves all copies. Returns the copies that each need a statement of their
 * own.
 */
async function moveByRows(
  copies: readonly TableCopy[],
  changed: readonly TableCopy[],
  reader: Reader,
): Promise<readonly TableCopy[]> {
  // The tables to read are sorted, so that the same tables always give the same text of the statement. Unchanged tables are not
  // read, because they may be locked.
  const read = [...changed].sort((one, other) => (one.entity.table < other.entity.table ? -1 : 1))
  const unread = copies.filter((copy) => !changed.includes(copy))
  const rows = await ask(reader, compileJointRows([...read, ...unread].map(askedTableOf), read.length))
  const answers = answersOf([...read, ...unread], rows)
  // Rows of the unread tables may have changed since the first statement. Then all tables are read.
  const isLate = answers.slice(read.length).some(({ isWhole, changes }) => isWhole || changes.length > 0)
  if (isLate) return moveByRows(copies, copies, reader)
  const current = answers.filter(({ copy, state, keptFrom }) => keeps(copy, () => copy.requireSame(state, keptFrom)))
  const moved = current.filter(({ isWhole }) => !isWhole)
  await applyRows(moved)
  // All copies move in the same turn of the event loop, so that no list finds them at different snapshots.
  for (const { copy } of moved) keeps(copy, () => copy.endApplying(rows[0]?.[SNAPSHOT] as string))
  return current.filter(({ isWhole }) => isWhole).map(({ copy }) => copy)
}

function answersOf(copies: readonly TableCopy[], rows: readonly Row[]): TableAnswer[] {
  let from: number = VALUES
  return copies.map((copy, index) => {
    const own = rows.filter((row) => row[TABLE] === String(index + 1))
    const to = from + copy.entity.properties.length
    const changes = own.flatMap((row) => (row[ID] == null ? [] : [{ id: row[ID], values: row.slice(from, to) }]))
    from = to
    const [header = []] = own
    return { copy, state: header[STATE], keptFrom: header[KEPT_FROM], isWhole: header[IS_WHOLE] === '1', changes }
  })
}

/**
 * Writes changed rows into their copies, a few in each turn of the event loop. Until `endApplying`, these copies have rows of
 * several snapshots.
 */
async function applyRows(answers: readonly TableAnswer[]) {
  const changed = answers.filter(({ changes }) => changes.length > 0)
  for (const { copy } of changed) copy.beginApplying()
  const turn = yieldEvery(APPLY_MS)
  for (const { copy, changes } of changed)
    for (const { id, values } of changes) {
      if (!keeps(copy, () => copy.applyRow(id, values))) break
      const pause = turn()
      if (pause !== null) await pause
    }
}

/** Calls `work`, and ends the copy if `work` throws. Returns whether the copy is usable afterwards. */
function keeps(copy: TableCopy, work: () => void): boolean {
  if (copy.unusable !== null) return false
  try {
    work()
    return true
  } catch (error) {
    copy.lose(error)
    return false
  }
}

function askedTableOf({ entity, moment: { relation, snapshot } }: TableCopy): AskedTable {
  return { entity, relation, snapshot }
}

function ask(reader: Reader, statement: Statement): Promise<Row[]> {
  const late = () => {
    throw new Error('a question about several tables takes too long')
  }
  return withDeadline(reader.read(statement), JOINT_MS_MAX, late)
}
