import type { Kind } from './kinds.ts'
import { type Param, type Sql, sql } from './sql.ts'

/** Which values an operator takes by where they lie: less than its operand, equal to it, greater; and rows without a value. */
export interface Sides {
  readonly less: boolean
  readonly equal: boolean
  readonly greater: boolean
  readonly none: boolean
}

/** A filter's operator. This table is all there is: parser, compiler and predicates read it. Spec 4.2, Filtering 5. */
export interface Operator {
  readonly prefix: string
  readonly meaning: string
  serves(kind: Kind): boolean
  compile(column: Sql, value: Param): Sql
  /**
   * Meaning without PostgreSQL, by order alone; if the operand is empty, rows without a value are equal to it. Null: order does
   * not decide.
   */
  readonly sides: Sides | null
  /** For an operand that is empty, "no value"; null: not allowed. */
  readonly compileEmpty: ((column: Sql, emptyIsNoValue: boolean) => Sql) | null
}

const everyKind = () => true
const orderedKinds = (kind: Kind) => kind.ordered

export const operators: readonly Operator[] = [
  {
    prefix: '=',
    meaning: 'equals; exact and case-sensitive',
    serves: everyKind,
    compile: (column, value) => sql`${column} = ${value}`,
    sides: { less: false, equal: true, greater: false, none: false },
    compileEmpty: (column, emptyToo) => (emptyToo ? sql`(${column} is null or ${column} = '')` : sql`${column} is null`),
  },
  {
    prefix: '!=',
    meaning: 'not equals; the complement of =, so rows without a value belong here',
    serves: everyKind,
    compile: (column, value) => sql`${column} is distinct from ${value}`,
    sides: { less: true, equal: false, greater: true, none: true },
    compileEmpty: (column, emptyToo) => (emptyToo ? sql`${column} <> ''` : sql`${column} is not null`),
  },
  {
    prefix: '<',
    meaning: 'less than',
    serves: orderedKinds,
    compile: (column, value) => sql`${column} < ${value}`,
    sides: { less: true, equal: false, greater: false, none: false },
    compileEmpty: null,
  },
  {
    prefix: '<=',
    meaning: 'less than or equal',
    serves: orderedKinds,
    compile: (column, value) => sql`${column} <= ${value}`,
    sides: { less: true, equal: true, greater: false, none: false },
    compileEmpty: null,
  },
  {
    prefix: '>',
    meaning: 'greater than',
    serves: orderedKinds,
    compile: (column, value) => sql`${column} > ${value}`,
    sides: { less: false, equal: false, greater: true, none: false },
    compileEmpty: null,
  },
  {
    prefix: '>=',
    meaning: 'greater than or equal',
    serves: orderedKinds,
    compile: (column, value) => sql`${column} >= ${value}`,
    sides: { less: false, equal: true, greater: true, none: false },
    compileEmpty: null,
  },
]
