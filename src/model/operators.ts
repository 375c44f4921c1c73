// Operators of filters. Parser, compiler, client and documents read this table only. Spec 4.2, Filtering 5; D71
import { foldSql } from './fold.ts'
import type { Kind } from './kinds.ts'
import { type Param, type Sql, sql } from './sql.ts'

/** Rows that an operator matches: rows with a value below, equal to or above the operand, and rows without a value. */
export type Sides = Readonly<Record<'less' | 'equal' | 'greater' | 'none', boolean>>

/** Members of a property that decide which operators it has. */
interface Served {
  readonly kind: Kind
  /** Set if the property holds the id of another row. */
  readonly reference: { readonly isToItself: boolean } | null
}

export interface Operator {
  /** Text in requests: before the value, such as `>=`, or in brackets after the property's name, such as `[contains]`. */
  readonly sign: string
  readonly meaning: string
  serves(property: Served): boolean
  /**
   * Compiles the condition. `column`: the column, or its folded text if `folded` is not null. `value`: the operand; if `isChain`,
   * a subquery that selects ids.
   */
  compile(column: Sql, value: Param | Sql): Sql
  /**
   * Rows that the operator matches, by their order relative to the operand. An empty operand equals "no value". Null: the
   * operator does not compare values by order.
   */
  readonly sides: Sides | null
  /** Part of the folded text in which the operand is searched; null: texts are not folded. */
  readonly folded: 'anywhere' | 'beginning' | null
  /** True if all parameters of one name form a single filter, whose values are alternatives. */
  readonly isAny: boolean
  /** True if the operand is an id, and the operator matches rows whose references lead, at any depth, to the row with this id. */
  readonly isChain: boolean
  /** Compiles the condition for an empty operand, which means "no value"; null: an empty operand is not allowed. */
  readonly compileEmpty: ((column: Sql, emptyIsNoValue: boolean) => Sql) | null
}

const everyKind = () => true
const comparedKinds = ({ kind }: Served) => kind.isCompared
const orderedKinds = ({ kind }: Served) => kind.ordered
const freeTexts = ({ kind }: Served) => kind.isFreeText
/** Folds the operand once, not for each row. */
const folded = (operand: Param | Sql) => sql`(select ${foldSql(sql`${operand}`)})`
const isNone = (column: Sql, emptyToo: boolean) =>
  emptyToo ? sql`(${column} is null or ${column} = '')` : sql`${column} is null`

const DEFAULTS = { serves: orderedKinds, sides: null, folded: null, isAny: false, isChain: false, compileEmpty: null }

/** Makes a comparison by order, which never matches rows without a value. */
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
    serves: comparedKinds,
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
  {
    ...DEFAULTS,
    sign: '[under]',
    meaning: 'leads to this row, at any depth, such as to a manager above',
    serves: ({ reference }) => reference?.isToItself === true,
    // The value is a subquery. It selects the id of the row that the operand names, and the ids of all rows whose references lead
    // to this row.
    compile: (column, rows) => sql`${column} in (${rows})`,
    isChain: true,
  },
]

/** Operator of a union of filters, which rights make. No request can use it. */
export const union: Operator = {
  ...DEFAULTS,
  sign: '[either]',
  meaning: 'matches all filters of one of several lists',
  serves: () => false,
  compile: () => {
    throw new Error('a union compares no value')
  },
}

/** Operators that stand before the value. */
export const prefixes: readonly Operator[] = operators.filter(({ sign }) => !sign.startsWith('['))

/** Operators that stand after the property's name. */
export const brackets: readonly Operator[] = operators.filter(({ sign }) => sign.startsWith('['))

/** Name of `[]` in the OpenAPI document: generators of clients would give `Id` and `Id[]` the same name. */
export const ANY_IN_WORDS = '[any]'

export const equality = operators.find(({ sign }) => sign === '=') as Operator

/** The complement of equality. */
export const inequality = operators.find(({ sign }) => sign === '!=') as Operator

/** Operators by their names in the typed client: `>=`, `contains`, `any`. */
export const clientOperators: Readonly<Record<string, string>> = Object.fromEntries(
  operators.map(({ sign, isAny }) => [isAny ? 'any' : sign.replace(/[[\]]/g, ''), sign]),
)
