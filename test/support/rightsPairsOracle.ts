// Checks the effects of a write. The row must have been within the reach of a right before the write, and must match the right
// after it. Only properties that the right may set may have changed.
import type postgres from 'postgres'
import type { Verb } from '../../src/model/access.ts'
import type { Entity, Property } from '../../src/model/entity.ts'
import type { Row } from '../../src/model/sql.ts'
import type { PairAnswer, PairRequest } from './rightsPairsAnswers.ts'
import type { FindRow } from './rightsPairsPaths.ts'
import type { Condition, RandomKey, RandomRight } from './rightsPairsRights.ts'
import { targetOf } from './rightsPairsRows.ts'
import { rowMatches } from './rightsPairsSecrets.ts'

const VERBS: Readonly<Record<string, Verb>> = { POST: 'create', PUT: 'update', PATCH: 'update', DELETE: 'delete' }

/** Reads a row directly from the database, with values as PostgreSQL prints them; null if there is no such row. */
async function readRow(sql: postgres.Sql, entity: Entity, id: number): Promise<Row | null> {
  const [row] = await readRows(sql, entity, `where id = ${id}`)
  return row ?? null
}

async function readRows(sql: postgres.Sql, entity: Entity, where = ''): Promise<Row[]> {
  const cells = entity.properties.map(({ column, kind }) => {
    if (kind.name === 'instant') return `("${column}" at time zone 'UTC')::text || '+00'`
    return kind.name === 'boolean' ? `left("${column}"::text, 1)` : `"${column}"::text`
  })
  return (await sql.unsafe(`select ${cells} from "${entity.table}" ${where}`).values()) as unknown as Row[]
}

/**
 * State before a write. `row`: the row to write; null if it does not exist. `find`: finds the rows to which paths of the key's
 * rights led.
 */
export interface Before {
  readonly row: Row | null
  /** All rows of the entity if the request may write several rows; else empty. */
  readonly rows: ReadonlyMap<number, Row>
  readonly find: FindRow
}

/** The rows that a request writes. `several`: true if the request finds rows by filters or by values. */
interface Aim {
  readonly entity: Entity
  /** Id of the row to write; null for a new row. */
  readonly id: number | null
  readonly several: boolean
}

/** Checks the writes of a key against its rights. */
export class WriteOracle {
  constructor(
    private readonly sql: postgres.Sql,
    private readonly key: RandomKey,
    private readonly entities: readonly Entity[],
  ) {}

  /** Returns the state before a request. */
  async before(request: PairRequest): Promise<Before> {
    const aim = this.aimOf(request)
    const row = aim === null || aim.id === null ? null : await readRow(this.sql, aim.entity, aim.id)
    return { row, rows: aim?.several ? await this.rowsOf(aim.entity) : new Map(), find: await this.findNow() }
  }

  private async rowsOf(entity: Entity): Promise<Map<number, Row>> {
    return new Map((await readRows(this.sql, entity)).map((row) => [Number(row[0]), row]))
  }

  /** Returns a function that finds the rows to which paths of the key's rights lead now. */
  private async findNow(): Promise<FindRow> {
    const rows = new Map<Entity, Map<number, Row>>()
    const isOfOthers = ({ property, sign }: Condition) => property.related !== null || sign === '[under]'
    if (this.key.rights.some(({ filters, becomes }) => [...filters, ...(becomes ?? [])].some(isOfOthers)))
      for (const entity of this.entities) rows.set(entity, await this.rowsOf(entity))
    return (entity, id) => rows.get(entity)?.get(id) ?? null
  }

  /** Returns the faults in the effects of a write, and in the rows that its answer shows. */
  async faultsOf(request: PairRequest, answer: PairAnswer, before: Before): Promise<string[]> {
    // A statement sees other rows as they are when it begins. For a stored answer, the other rows of now decide.
    const find = answer.headers.has('idempotency-replayed') ? await this.findNow() : before.find
    return [...(await this.faultsOfEffect(request, answer, before)), ...(await this.faultsOfShown(request, answer, find))]
  }

  private async faultsOfEffect(request: PairRequest, answer: PairAnswer, found: Before): Promise<string[]> {
    const aim = this.aimOf(request)
    if (aim === null) return []
    if (aim.several) return this.faultsOfRows(aim.entity, answer, found)
    const { row: before, find } = found
    const verb = VERBS[request.method] as Verb
    const rights = this.key.rights.filter((one) => one.entity === aim.entity && one.verbs.includes(verb))
    const isDone = answer.status < 300
    if (isDone && rights.length === 0)
      return [`a key without the right to ${verb} ${aim.entity.plural} was answered ${answer.status}`]
    const isReplay = answer.headers.has('idempotency-replayed')
    if (verb === 'create')
      return isDone && !isReplay
        ? leastOf(await Promise.all(rights.map((right) => this.faultsOfCreate(right, idsIn(answer, /\{"id":(\d+)/g), find))))
        : []
    const after = await readRow(this.sql, aim.entity, aim.id as number)
    if (!isDone || isReplay)
      return String(before) === String(after) ? [] : [`the row has changed, although the answer is ${answer.status}`]
    const isUnchanged = setsNothing(request, aim.entity)
    return leastOf(rights.map((right) => this.faultsOfChange(right, before, after, find, isUnchanged)))
  }

  /** Returns a fault for each row in the answer to a write that the key may not read. */
  private async faultsOfShown(request: PairRequest, { body, status }: PairAnswer, find: FindRow): Promise<string[]> {
    const aim = this.aimOf(request)
    if (aim === null || status >= 300) return []
    const reads = this.key.rights.filter((one) => one.entity === aim.entity && !one.view && one.verbs.includes('read'))
    const faults: string[] = []
    for (const [, id] of body.matchAll(/\{"id":(\d+),/g)) {
      const row = await readRow(this.sql, aim.entity, Number(id))
      const isAdmitted = row && reads.some((read) => rowMatches(aim.entity, row, read.filters, find))
      if (!isAdmitted) faults.push(`the answer shows row ${id}, which the key may not read`)
    }
    return faults
  }

  /** Returns a fault for each row in a stored answer that the key may not read now. */
  async faultsOfReplay(request: PairRequest, answer: PairAnswer): Promise<string[]> {
    return this.faultsOfShown(request, answer, await this.findNow())
  }

  /**
   * Returns the faults of a write that finds its rows: the key must have a right to read each row as it was, and a right to write
   * it.
   */
  private async faultsOfRows(entity: Entity, answer: PairAnswer, { rows: before, find }: Before): Promise<string[]> {
    const after = await this.rowsOf(entity)
    const isWritten = (id: number) => {
      const [one, other] = [before.get(id), after.get(id)]
      if (one === undefined || other === undefined) return one !== other
      return entity.properties.some((property, index) => property.writable && one[index] !== other[index])
    }
    const written = [...new Set([...before.keys(), ...after.keys()])].filter(isWritten)
    if (answer.status >= 300 || answer.headers.has('idempotency-replayed'))
      return written.length === 0 ? [] : [`rows ${written} have changed, although the answer is ${answer.status}`]
    const rightsTo = (verb: Verb) =>
      this.key.rights.filter((one) => one.entity === entity && one.verbs.includes(verb) && !one.view)
    const created = idsIn(answer, /"created","row":\{"id":(\d+)/g)
    const faults = written.flatMap((id): string[] => {
      const [one, other] = [before.get(id) ?? null, after.get(id) ?? null]
      if (one === null) return created.includes(id) ? [] : [`row ${id} was created, and the answer does not say so`]
      const isRead = rightsTo('read').some(({ filters }) => rowMatches(entity, one, filters, find))
      if (!isRead) return [`row ${id} was written, which the key does not read`]
      const rights = rightsTo(other === null ? 'delete' : 'update')
      if (rights.length === 0) return [`row ${id} was written without a right`]
      return leastOf(rights.map((right) => this.faultsOfChange(right, one, other, find, false)))
    })
    const ofCreates = await Promise.all(rightsTo('create').map((right) => this.faultsOfCreate(right, created, find)))
    return [...faults, ...(created.length === 0 ? [] : leastOf(ofCreates))]
  }

  private faultsOfChange(
    right: RandomRight,
    before: Row | null,
    after: Row | null,
    find: FindRow,
    isUnchanged: boolean,
  ): string[] {
    const { entity, filters, fields } = right
    if (before === null) return ['a row that was not there was written']
    const faults: string[] = []
    if (!rowMatches(entity, before, filters, find)) faults.push('the row was not within reach of the right')
    if (after === null) return faults
    const named = new Set((right.becomes ?? []).map(({ property }) => property))
    const conditions = [...(right.becomes ?? []), ...filters.filter(({ property }) => !named.has(property))]
    if (!isUnchanged && !rowMatches(entity, after, conditions, find)) faults.push('the row has left the right')
    for (const [index, property] of entity.properties.entries()) {
      if (!property.writable || before[index] === after[index]) continue
      if (fields !== null && !fields.includes(property)) faults.push(`${property.name} was changed, which the key may not set`)
    }
    return faults
  }

  private async faultsOfCreate(right: RandomRight, ids: readonly number[], find: FindRow): Promise<string[]> {
    const { entity, filters, fields } = right
    const faults: string[] = []
    for (const id of ids) {
      const row = await readRow(this.sql, entity, id)
      if (row === null) return [`the new row ${id} is not there`]
      if (!rowMatches(entity, row, filters, find)) faults.push('the new row is not within the right')
      for (const [index, property] of entity.properties.entries()) {
        const isDefault = row[index] === null || row[index] === 'f'
        const isPreset = filters.some((one) => one.property === property && one.sign === '=')
        if (!property.writable || isDefault || isPreset) continue
        if (fields !== null && !fields.includes(property)) faults.push(`${property.name} was set, which the key may not set`)
        faults.push(...(await this.faultsOfReference(property, row[index] as string, filters, find)))
      }
    }
    return faults
  }

  /**
   * Checks that a reference leads to a row that the key may read. Exceptions: the right itself sets the reference, or the key has
   * no right to read rows of this kind.
   */
  private async faultsOfReference(
    property: Property,
    id: string,
    filters: readonly Condition[],
    find: FindRow,
  ): Promise<string[]> {
    if (!property.reference || filters.some((one) => one.property === property && one.sign === '=')) return []
    const target = targetOf(property, this.entities)
    const reads = this.key.rights.filter((one) => one.entity === target && one.verbs.includes('read'))
    if (reads.length === 0) return []
    const row = await readRow(this.sql, target, Number(id))
    const isRead = row === null || reads.some(({ filters }) => rowMatches(target, row, filters, find))
    return isRead ? [] : [`${property.name} names a row that the key may not read`]
  }

  /** Returns which rows the request writes; null if it writes no rows. */
  private aimOf({ method, target }: PairRequest): Aim | null {
    if (!(method in VERBS) || target.includes('dryRun')) return null
    const [path = '', query = ''] = target.split('?')
    const [, plural = '', id] = path.split('/')
    const entity = this.entities.find((one) => one.plural.toLowerCase() === plural.toLowerCase())
    const several = method === 'POST' ? query.startsWith('match=') : id === undefined
    return entity ? { entity, id: id === undefined ? null : Number(id), several } : null
  }
}

/** Returns the ids that a pattern finds in an answer. */
function idsIn({ body }: PairAnswer, pattern: RegExp): number[] {
  return [...body.matchAll(pattern)].map(([, id]) => Number(id))
}

/** Returns the shortest list of faults. Each list belongs to one right, and a single right must allow the whole write. */
function leastOf(faults: readonly string[][]): string[] {
  return faults.reduce((least, own) => (own.length < least.length ? own : least), faults[0] ?? [])
}

/** True if a body names no property that clients can write: the write then changes nothing. */
function setsNothing({ body }: PairRequest, { members }: Entity): boolean {
  const names = Object.keys(JSON.parse(body ?? '{}')).map((name) => name.toLowerCase())
  return members.every((member) => !names.includes(member.name.toLowerCase()) || !('properties' in member || member.writable))
}
