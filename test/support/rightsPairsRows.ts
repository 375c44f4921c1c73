// Rows of a database as tests know them: the value of every property as PostgreSQL prints it. Values are drawn from small pools,
// so that filters, groups and references match several rows.
import type postgres from 'postgres'
import type { Entity, Property } from '../../src/model/entity.ts'
import { until } from './process.ts'
import type { Random } from './random.ts'

/** Values of the writable properties of a row, as PostgreSQL prints them. */
type Cells = ReadonlyMap<Property, string | null>

/** Rows by entity and id. */
export type Rows = ReadonlyMap<Entity, ReadonlyMap<number, Cells>>

const TEXTS = ['Ada', 'Zoë', 'zoe', 'Ann-Marie', 'e f', 'é', 'ß', '10', '9', '<b>', "O'Neil", 'a%b', '']
const INSTANTS = ['2024-01-31 09:00:00+00', '2024-02-29 00:00:00+00', '2025-07-01 12:30:00+00', '1999-12-31 23:59:59+00']
const DATES = ['2024-01-31', '2024-02-29', '2025-07-01', '1999-12-31']
const DECIMALS = ['0.00000000', '0.50000000', '1.00000000', '2.50000000', '10.00000000', '1234567.12345678']

/** Greatest ids of rows. About one in eight ids has no row. */
const ID_MAX = { few: 9, some: 28, many: 64 }
/** The first id that a create gets. */
export const NEXT_ID = 1_000

/**
 * Returns the greatest id of an entity's rows. It is low if the entity refers to no other entity, and high if it does and no
 * entity refers to it.
 */
export function idMaxOf(entity: Entity, entities: readonly Entity[]): number {
  const refersToOthers = entity.properties.some(({ reference }) => reference && reference.entity !== entity.name)
  const isReferredTo = entities.some(({ properties }) => properties.some(({ reference }) => reference?.entity === entity.name))
  if (!refersToOthers) return ID_MAX.few
  return isReferredTo ? ID_MAX.some : ID_MAX.many
}

/** Draws a value of the property, or null if the property may have no value. */
export function randomCell(random: Random, property: Property, idMax: number): string | null {
  if (property.kind.nullable && !property.required && random.chance(15)) return null
  return randomValue(random, property, idMax)
}

/** Draws a value of the property from a small pool. */
export function randomValue(random: Random, property: Property, idMax: number): string {
  const { kind, examples, reference } = property
  if (reference) return String(1 + random.below(idMax))
  if (kind.name === 'integer') return String(1 + random.below(idMax))
  if (kind.name === 'boolean') return random.pick(['t', 'f'])
  if (kind.name === 'instant') return random.pick(INSTANTS)
  if (kind.name === 'date') return random.pick(DATES)
  if (kind.name === 'decimal') return random.pick(DECIMALS)
  if (kind.name === 'oneOf') return random.pick(kind.values ?? [])
  if (examples.length > 0 && random.chance(80)) return random.pick(examples)
  // Two texts of a property occur in no other property, so that answers show where a value comes from.
  return random.pick([...TEXTS, `${property.column} one`, `${property.column} two`])
}

/** Returns the entity that the reference leads to. */
export function targetOf({ reference }: Property, entities: readonly Entity[]): Entity {
  return entities.find(({ name }) => name === reference?.entity) as Entity
}

/** Orders entities so that each comes after the entities to which it refers. */
function inOrderOfReferences(entities: readonly Entity[]): Entity[] {
  const ordered: Entity[] = []
  const refersTo = (entity: Entity) =>
    entity.properties.flatMap((property) => (property.reference ? [targetOf(property, entities)] : []))
  while (ordered.length < entities.length) {
    const next = entities.find(
      (entity) => !ordered.includes(entity) && refersTo(entity).every((one) => one === entity || ordered.includes(one)),
    )
    if (!next) throw new Error('entities refer to each other in a circle')
    ordered.push(next)
  }
  return ordered
}

/** Draws rows of all entities. */
export function randomRows(random: Random, entities: readonly Entity[]): Map<Entity, Map<number, Map<Property, string | null>>> {
  const rows = new Map<Entity, Map<number, Map<Property, string | null>>>()
  for (const entity of entities) {
    const own = new Map<number, Map<Property, string | null>>()
    for (let id = 1; id <= idMaxOf(entity, entities); id++) if (!random.chance(12)) own.set(id, new Map())
    rows.set(entity, own)
  }
  for (const [entity, own] of rows)
    for (const cells of own.values()) {
      for (const property of entity.properties) {
        if (!property.writable) continue
        const target = property.reference ? targetOf(property, entities) : entity
        const value = randomCell(random, property, idMaxOf(target, entities))
        const isMissing = property.reference && value !== null && !rows.get(target)?.has(Number(value))
        cells.set(property, isMissing ? null : value)
      }
      keepRules(entity, cells)
    }
  return rows
}

/** Sets the later value to null if the row breaks a rule between two properties. */
export function keepRules({ rules }: Entity, cells: Map<Property, string | null>): void {
  for (const { later, earlier } of rules) {
    const [end, start] = [cells.get(later) ?? null, cells.get(earlier) ?? null]
    if (end !== null && start !== null && end < start) cells.set(later, null)
  }
}

/** Properties that decide the value of a property: `own` in the same row, and `through` in a referred row. */
export interface Sources {
  readonly own: readonly Property[]
  readonly through: { readonly reference: Property; readonly target: Entity; readonly property: Property } | null
}

export function sourcesOf(entity: Entity, property: Property, entities: readonly Entity[]): Sources {
  if (property.writable || property === entity.id) return { own: [property], through: null }
  if (property.computedFrom.length > 0) {
    const own = property.computedFrom.map((column) => entity.properties.find((one) => one.column === column) as Property)
    return { own, through: null }
  }
  const reference = entity.properties.find((one) => one.reference?.copy?.column === property.column) as Property
  const target = targetOf(reference, entities)
  const source = target.properties.find(({ column }) => column === reference.reference?.copy?.source) as Property
  return { own: [reference], through: { reference, target, property: source } }
}

/** Returns the value of any property of a row, also of one that the database computes or copies. */
export function valueIn(rows: Rows, entity: Entity, id: number, property: Property): string | null {
  if (property === entity.id) return String(id)
  const cells = rows.get(entity)?.get(id)
  if (!cells) return null
  if (property.writable) return cells.get(property) ?? null
  const { own, through } = sourcesOf(entity, property, [...rows.keys()])
  if (!through)
    return computed(
      property,
      own.map((one) => cells.get(one) ?? null),
    )
  const referred = cells.get(through.reference) ?? null
  return referred === null ? null : valueIn(rows, through.target, Number(referred), through.property)
}

/** Computes a text: the values with spaces between, or as `display_name` in the migrations. */
function computed({ computedBy }: Property, values: readonly (string | null)[]): string | null {
  const [first, second, ...rest] = values.map((value) => value || null)
  const parts = computedBy === null ? values.map((value) => value || null) : [first ?? second ?? null, ...rest]
  return parts.filter((part) => part !== null).join(' ') || null
}

/** Returns the properties of a row, in the order of the entity, as a statement would. */
export function rowOf(rows: Rows, entity: Entity, id: number): (string | null)[] {
  return entity.properties.map((property) => valueIn(rows, entity, id, property))
}

/**
 * Replaces everything in the database by these rows. With equal rows, everything that follows is then equal, including new ids
 * and events.
 */
export async function fill(sql: postgres.Sql, rows: Rows): Promise<void> {
  const entities = inOrderOfReferences([...rows.keys()])
  await sql.begin(async (transaction) => {
    for (const { table } of entities.toReversed()) await transaction`delete from ${transaction(table)}`
    await transaction`delete from entity_change`
    await transaction`delete from idempotency_key`
    for (const entity of entities) await insert(transaction, entity, rows)
    for (const { table } of entities) await transaction`select setval(pg_get_serial_sequence(${table}, 'id'), ${NEXT_ID}, false)`
  })
}

/** Waits until the feed shows all events: transactions in progress delay it, also those of other databases of the cluster. */
export async function untilSettled(sql: postgres.Sql): Promise<void> {
  await until(async () => {
    const [found] = await sql`
      select coalesce(max(position), 0) < pg_snapshot_xmin(pg_current_snapshot())::text::bigint as "isSettled" from entity_change`
    return found?.isSettled === true
  })
}

/** Inserts the rows of an entity in the order of their ids, so that the change feed has the same order, too. */
async function insert(sql: postgres.TransactionSql, entity: Entity, rows: Rows): Promise<void> {
  const { name, table, properties } = entity
  const own = rows.get(entity) ?? new Map<number, Cells>()
  const isOwn = ({ reference }: Property) => reference?.entity === name
  const written = properties.filter((property) => property.writable && !isOwn(property))
  const texts = [...own].map(([id, cells]) => ({ id, ...jsonOf(cells, written) }))
  const columns = written.flatMap(({ column, reference }) => {
    const copy = reference?.copy
    const key = `(select "${copy?.sourceColumn}" from "${reference?.table}" as s where s.id = r."${column}")`
    return [[`"${column}"`, `r."${column}"`], ...(copy ? [[`"${copy.keyColumn}"`, key]] : [])]
  })
  const types = written.map(({ column, kind }) => `"${column}" ${kind.columnType}`)
  await sql.unsafe(
    `insert into "${table}" (${['id', ...columns.map(([column]) => column)]}) overriding system value
     select ${['r.id', ...columns.map(([, value]) => value)]} from jsonb_to_recordset($1::text::jsonb) as r (${['id bigint', ...types]})`,
    [JSON.stringify(texts)] as never,
  )
  // References to the same table are set after all its rows are inserted.
  for (const { column, reference } of properties.filter(isOwn)) {
    const copy = reference?.copy
    const updates = [...own].flatMap(([id, cells]) => {
      const target = cells.get(properties.find((one) => one.column === column) as Property) ?? null
      if (target === null) return []
      const key = copy ? `, "${copy.keyColumn}" = (select "${copy.sourceColumn}" from "${table}" where id = ${target})` : ''
      return [`update "${table}" set "${column}" = ${target}${key} where id = ${id}`]
    })
    if (updates.length > 0) await sql.unsafe(updates.join(';'))
  }
}

function jsonOf(cells: Cells, properties: readonly Property[]): Record<string, string | null> {
  return Object.fromEntries(properties.map((property) => [property.column, cells.get(property) ?? property.kind.default]))
}
