// What a write may have done: the row was within reach before, is within the right after, and only what may be set has changed.
import type postgres from 'postgres'
import type { Verb } from '../../src/model/access.ts'
import type { Entity, Property } from '../../src/model/entity.ts'
import type { Row } from '../../src/model/sql.ts'
import type { PairAnswer, PairRequest } from './rightsPairsAnswers.ts'
import type { Condition, RandomKey, RandomRight } from './rightsPairsRights.ts'
import { targetOf } from './rightsPairsRows.ts'
import { rowMatches } from './rightsPairsSecrets.ts'

const VERBS: Readonly<Record<string, Verb>> = { POST: 'create', PUT: 'update', PATCH: 'update', DELETE: 'delete' }

/** Reads a row past the API, as PostgreSQL prints its values; null if there is none. */
async function readRow(sql: postgres.Sql, entity: Entity, id: number): Promise<Row | null> {
  const cells = entity.properties.map(({ column, kind }) => {
    if (kind.name === 'instant') return `("${column}" at time zone 'UTC')::text || '+00'`
    return kind.name === 'boolean' ? `left("${column}"::text, 1)` : `"${column}"::text`
  })
  const [row] = await sql.unsafe(`select ${cells} from "${entity.table}" where id = ${id}`).values()
  return (row as unknown as Row | undefined) ?? null
}

/** Checks writes of a key by its rights. */
export class WriteOracle {
  constructor(
    private readonly sql: postgres.Sql,
    private readonly key: RandomKey,
    private readonly entities: readonly Entity[],
  ) {}

  /** Returns the row that the request is about, as it is before; null if it is about none that is there. */
  async before(request: PairRequest): Promise<Row | null> {
    const aim = this.aimOf(request)
    return aim === null || aim.id === null ? null : readRow(this.sql, aim.entity, aim.id)
  }

  /** Returns what is wrong with what the write has done, and with what its answer shows. */
  async faultsOf(request: PairRequest, answer: PairAnswer, before: Row | null): Promise<string[]> {
    return [...(await this.faultsOfEffect(request, answer, before)), ...(await this.faultsOfShown(request, answer))]
  }

  private async faultsOfEffect(request: PairRequest, answer: PairAnswer, before: Row | null): Promise<string[]> {
    const aim = this.aimOf(request)
    if (aim === null) return []
    const verb = VERBS[request.method] as Verb
    const right = this.key.rights.find((one) => one.entity === aim.entity && one.verbs.includes(verb))
    const isDone = answer.status < 300
    if (isDone && right === undefined)
      return [`a key without the right to ${verb} ${aim.entity.plural} was answered ${answer.status}`]
    const isReplay = answer.headers.has('idempotency-replayed')
    if (verb === 'create') return isDone && right && !isReplay ? this.faultsOfCreate(right, answer) : []
    const after = await readRow(this.sql, aim.entity, aim.id as number)
    if (!isDone || isReplay)
      return String(before) === String(after) ? [] : [`the row has changed, although the answer is ${answer.status}`]
    return this.faultsOfChange(right as RandomRight, before, after, setsNothing(request, aim.entity))
  }

  /** Returns what is wrong with the rows that the answer to a write shows: the key must be able to read them. */
  async faultsOfShown(request: PairRequest, { body, status }: PairAnswer): Promise<string[]> {
    const aim = this.aimOf(request)
    if (aim === null || status >= 300) return []
    const read = this.key.rights.find((one) => one.entity === aim.entity && one.verbs.includes('read'))
    const faults: string[] = []
    for (const [, id] of body.matchAll(/\{"id":(\d+),/g)) {
      const row = await readRow(this.sql, aim.entity, Number(id))
      const isAdmitted = read && row && rowMatches(aim.entity, row, read.filters)
      if (!isAdmitted) faults.push(`the answer shows row ${id}, which the key may not read`)
    }
    return faults
  }

  private faultsOfChange(right: RandomRight, before: Row | null, after: Row | null, isUnchanged: boolean): string[] {
    const { entity, filters, fields } = right
    if (before === null) return ['a row that was not there was written']
    const faults: string[] = []
    if (!rowMatches(entity, before, filters)) faults.push('the row was not within reach of the right')
    if (after === null) return faults
    const named = new Set((right.becomes ?? []).map(({ property }) => property))
    const conditions = [...(right.becomes ?? []), ...filters.filter(({ property }) => !named.has(property))]
    if (!isUnchanged && !rowMatches(entity, after, conditions)) faults.push('the row has left the right')
    for (const [index, property] of entity.properties.entries()) {
      if (!property.writable || before[index] === after[index]) continue
      if (fields !== null && !fields.includes(property)) faults.push(`${property.name} was changed, which the key may not set`)
    }
    return faults
  }

  private async faultsOfCreate(right: RandomRight, answer: PairAnswer): Promise<string[]> {
    const { entity, filters, fields } = right
    const faults: string[] = []
    for (const [, id] of answer.body.matchAll(/\{"id":(\d+)/g)) {
      const row = await readRow(this.sql, entity, Number(id))
      if (row === null) return [`the new row ${id} is not there`]
      if (!rowMatches(entity, row, filters)) faults.push('the new row is not within the right')
      for (const [index, property] of entity.properties.entries()) {
        const isDefault = row[index] === null || row[index] === 'f'
        const isPreset = filters.some((one) => one.property === property && one.sign === '=')
        if (!property.writable || isDefault || isPreset) continue
        if (fields !== null && !fields.includes(property)) faults.push(`${property.name} was set, which the key may not set`)
        faults.push(...(await this.faultsOfReference(property, row[index] as string, filters)))
      }
    }
    return faults
  }

  /** A reference leads to a row that the key may read, unless the right itself sets it or the key reads none or all. */
  private async faultsOfReference(property: Property, id: string, filters: readonly Condition[]): Promise<string[]> {
    if (!property.reference || filters.some((one) => one.property === property && one.sign === '=')) return []
    const target = targetOf(property, this.entities)
    const read = this.key.rights.find((one) => one.entity === target && one.verbs.includes('read'))
    if (!read || read.filters.length === 0) return []
    const row = await readRow(this.sql, target, Number(id))
    return row && !rowMatches(target, row, read.filters) ? [`${property.name} names a row that the key may not read`] : []
  }

  /** Returns the row that the request is about; id null: a new one. Null: not a write of rows. */
  private aimOf({ method, target }: PairRequest): { readonly entity: Entity; readonly id: number | null } | null {
    if (!(method in VERBS) || target.includes('dryRun')) return null
    const [, plural = '', id] = target.split(/[/?]/)
    const entity = this.entities.find((one) => one.plural.toLowerCase() === plural.toLowerCase())
    return entity ? { entity, id: id === undefined ? null : Number(id) } : null
  }
}

/** True for a body that names no property which clients write: nothing is written then, and the row stays as it is. */
function setsNothing({ body }: PairRequest, { members }: Entity): boolean {
  const names = Object.keys(JSON.parse(body ?? '{}')).map((name) => name.toLowerCase())
  return members.every((member) => !names.includes(member.name.toLowerCase()) || !('properties' in member || member.writable))
}
