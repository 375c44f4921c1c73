// The operators of filters. Parser, compiler, client and documents read this table alone. Spec 4.2, Filtering 5; D71
import { foldSql } from './fold.ts'
import type { Kind } from './kinds.ts'
import { type Param, type Sql, sql } from './sql.ts'

/** Values that match by order: less than the operand, equal to it, greater; and rows without a value. */
export type Sides = Readonly<Record<'less' | 'equal' | 'greater' | 'none', boolean>>

export interface Operator {
  /** As requests have it: in front of the value, as in `>=`, or in brackets behind the property's name, as in `[contains]`. */
  readonly sign: string
  readonly meaning: string
  serves(kind: Kind): boolean
  /** `column`: where `folded` is not null, its folded text. */
  compile(column: Sql, value: Param): Sql
  /** Meaning by order alone; if the operand is empty, rows without a value are equal to it. Null: order does not decide. */
  readonly sides: Sides | null
  /** The place of the operand in a folded text, if texts are compared so. */
  readonly folded: 'anywhere' | 'beginning' | null
  /** True if several parameters are one filter, whose values are alternatives. */
  readonly isAny: boolean
  /** For an operand that is empty, "no value"; null: not allowed. */
  readonly compileEmpty: ((column: Sql, emptyIsNoValue: boolean) => Sql) | null
}

const everyKind = () => true
const orderedKinds = (kind: Kind) => kind.ordered
const freeTexts = ({ name }: Kind) => name === 'text'
/** The operand is folded once, not for each row. */
const folded = (operand: Param) => sql`(select ${foldSql(sql`${operand}`)})`
const isNone = (column: Sql, emptyToo: boolean) =>
  emptyToo ? sql`(${column} is null or ${column} = '')` : sql`${column} is null`

const DEFAULTS = { serves: orderedKinds, sides: null, folded: null, isAny: false, compileEmpty: null }

/** An operator of an order, which takes no row without a value. */
function comparison(sign: string, operator: Sql, meaning: string, sides: Omit<Sides, 'none'>): Operator {
  const compile: Operator['compile'] = (column, value) => sql`${column} ${operator} ${value}`
  return { ...DEFAULTS, sign, meaning, compile, sides: { ...sides, none: false } }
}

export const operators: readonly Operator[] = [
  {
    ...DEFAULTS,
    sign: '=',
    meaning: 'equals; exact and case-sensitive',
    serves: everyKind,
    compile: (column, value) => sql`${column} = ${value}`,
    sides: { less: false, equal: true, greater: false, none: false },
    compileEmpty: isNone,
  },
  {
    ...DEFAULTS,
    sign: '!=',
    meaning: 'not equals; the complement of =, so rows without a value belong here',
    serves: everyKind,
    compile: (column, value) => sql`${column} is distinct from ${value}`,
    sides: { less: true, equal: false, greater: true, none: true },
    compileEmpty: (column, emptyToo) => (emptyToo ? sql`${column} <> ''` : sql`${column} is not null`),
  },
  comparison('<', sql`<`, 'less than', { less: true, equal: false, greater: false }),
  comparison('<=', sql`<=`, 'less than or equal', { less: true, equal: true, greater: false }),
  comparison('>', sql`>`, 'greater than', { less: false, equal: false, greater: true }),
  comparison('>=', sql`>=`, 'greater than or equal', { less: false, equal: true, greater: true }),
  {
    ...DEFAULTS,
    sign: '[]',
    meaning: 'equals any of the values of all parameters of this name',
    serves: everyKind,
    compile: (column, values) => sql`${column} = any (${values})`,
    isAny: true,
    compileEmpty: isNone,
  },
  {
    ...DEFAULTS,
    sign: '[begins]',
    meaning: 'begins with the value, whatever case and accents',
    serves: freeTexts,
    compile: (column, value) => sql`starts_with(${column}, ${folded(value)})`,
    folded: 'beginning',
  },
  {
    ...DEFAULTS,
    sign: '[contains]',
    meaning: 'contains the value, whatever case and accents',
    serves: freeTexts,
    compile: (column, value) => sql`strpos(${column}, ${folded(value)}) > 0`,
    folded: 'anywhere',
  },
]

/** Operators that stand in front of the value. */
export const prefixes: readonly Operator[] = operators.filter(({ sign }) => !sign.startsWith('['))

/** Operators that stand behind the property's name. */
export const brackets: readonly Operator[] = operators.filter(({ sign }) => sign.startsWith('['))

/** `[]` in words, as the OpenAPI document has it: generators of clients would make one name of `Id` and `Id[]`. */
export const ANY_IN_WORDS = '[any]'

export const equality = operators.find(({ sign }) => sign === '=') as Operator

/** Operators by their names in the typed client: `>=`, `contains`, `any`. */
export const clientOperators: Readonly<Record<string, string>> = Object.fromEntries(
  operators.map(({ sign, isAny }) => [isAny ? 'any' : sign.replace(/[[\]]/g, ''), sign]),
)
