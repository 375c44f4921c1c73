import type { Batch } from '../model/batch.ts'
import type { Entity, Property } from '../model/entity.ts'
import { type Param, param, replaceParams, type Sql, sql, toStatement } from '../model/sql.ts'
import {
  type Conditions,
  columnOf,
  foundRuns,
  type InsertParts,
  insertOne,
  type Operand,
  textOf,
  type UpdateParts,
  updateRuns,
} from './batch.ts'
import type { Compiled } from './shapes.ts'
import { askerOf, imageNames, linesOf, type Trail, withTrail } from './trail.ts'

// Writes that leave lines. Each text has one value more than without, behind all others: the key that asks for the write, in
// a batch those of its runs. What they return is the same. New rows that one key asks for have a cheaper text: their lines
// need not be matched with the runs.

/** What a line of a kind of write has, by whichever key. */
export interface Lines extends Pick<Trail, 'hasValues'> {
  readonly properties: readonly Property[]
}

/** The values of a statement with its trail's, if it has one. */
export function withKey(values: (string | null)[], trail: Trail | null): (string | null)[] {
  if (trail) values.push(trail.key)
  return values
}

/** A new row with its line, alone or in a batch. */
export function trailedInsert(
  entity: Entity,
  parts: InsertParts,
  operands: readonly Operand[],
  lines: Lines,
): Compiled {
  const asker = param(null)
  const one = withTrail(insertOne(parts), { entity, action: 'create', key: askerOf(asker, null), ...lines })
  const { insert, values, returning, matches } = parts
  const inner = replaceParams(values, columnOf(operands))
  const text = textOf(
    operands,
    (runs) => {
      // What is inserted does not say for which run: the first new id is that of the first run that is done, and so on.
      if (parts.sources.length === 0) {
        const effect = sql`${insert} select ${inner} from ${foundRuns([], operands, runs)} order by b."N" ${returning}`
        return withTrail(effect, {
          entity,
          action: 'create',
          key: askerOf(asker, sql`row_number() over (order by "C1")`),
          ...lines,
        })
      }
      const first = sql`select b.*, row_number() over (order by b."N") as "Place" from ${foundRuns(parts.sources, operands, runs)}`
      const effect = sql`${insert} select ${inner} from "First" as b order by b."N" ${returning}`
      const placed = sql`(select *, row_number() over (order by "C1") as "Place" from "W") as e`
      const rows = sql`${placed} join "First" as b on b."Place" = e."Place"`
      const own = linesOf({ entity, action: 'create', rows, key: askerOf(asker, sql`b."N"`), ...lines })
      const names = imageNames(entity, 'create')
      return sql`with "First" as materialized (${first}), "W" (${names}) as (${effect}), "Trail" as (${own}) select * from "W"`
    },
    [asker],
  )
  const alike = textOf(
    operands,
    (runs) => {
      const effect = sql`${insert} select ${inner} from ${foundRuns(parts.sources, operands, runs)} order by b."N" ${returning}`
      return withTrail(effect, { entity, action: 'create', key: askerOf(asker, null), ...lines })
    },
    [asker],
  )
  return {
    text: toStatement(one, [...paramsOf(operands), asker]).text,
    batch: { text, alike, rows: 'ordered', distinct: null, matches },
  }
}

/** An update with its lines; `one`: alone, `parts`: in a batch, whose last operand is the row's id. */
export function trailedUpdate(
  entity: Entity,
  one: Sql,
  parts: UpdateParts & Conditions,
  operands: readonly Operand[],
  lines: Lines,
): Compiled {
  const asker = param(null)
  const written = { entity, action: 'update', ...lines } as const
  const text = textOf(
    operands,
    (runs) => withTrail(updateRuns(parts, operands, runs), { ...written, key: askerOf(asker) }),
    [asker],
  )
  const alone = withTrail(one, { ...written, key: askerOf(asker, null) })
  return {
    text: toStatement(alone, [...paramsOf(operands), asker]).text,
    batch: { text, rows: 'numbered', distinct: operands.length - 1 },
  }
}

/** A deletion with its lines; `one`: alone, `many`: in a batch; both with the params `own` before all others. */
export function trailedRemove(
  entity: Entity,
  one: Sql,
  many: Sql,
  own: readonly Param[],
  hasValues: boolean,
): { text: string; batch: Batch } {
  const asker = param(null)
  const written = { entity, action: 'delete', properties: entity.properties, hasValues } as const
  const [alone, together] = [
    withTrail(one, { ...written, key: askerOf(asker, null) }),
    withTrail(many, { ...written, key: askerOf(asker) }),
  ]
  return {
    text: toStatement(alone, [...own, asker]).text,
    batch: { text: toStatement(together, [...own, asker]).text, rows: 'numbered', distinct: 0 },
  }
}

function paramsOf(operands: readonly Operand[]): Param[] {
  return operands.map((operand) => operand.param)
}
