// Operators of filters in words, by the kind of the property.
import { formatDate, formatDays, formatOperand } from './format.ts'
import { findProperty, type Kind, knownStore, type Property, type Resource, type Span } from './resources.ts'
import type { FoundSpan } from './spans.ts'
import type { Filter } from './view.ts'

/** An operator in words. `operand`: false if the words are the whole condition, such as "has no value". */
export interface Choice {
  readonly sign: string
  readonly words: string
  readonly operand: boolean
}

const choice = (sign: string, words: string, operand = true): Choice => ({ sign, words, operand })
const is = choice('=', 'is')
const others = [
  choice('!=', 'is not'),
  choice('[]', 'any of'),
  choice('=', 'has no value', false),
  choice('!=', 'has a value', false),
]
const ordered = (from: string, to: string, after: string, until: string) => [
  choice('>=', from),
  choice('<', to),
  choice('>', after),
  choice('<=', until),
]
const ofTimes = [...ordered('on or after', 'before', 'after', 'up to'), is, ...others]
const ofNumbers = [is, ...ordered('at least', 'less than', 'more than', 'at most'), ...others]
const ofTexts = [is, ...others, ...ordered('from', 'before', 'after', 'up to')]

/** Returns the operators that a filter by this property can have, the likeliest first. */
export function choicesOf({ kind, hasParts, hasChain }: Pick<Property, 'kind' | 'hasParts' | 'hasChain'>): readonly Choice[] {
  const ofIntegers = hasChain ? [...ofNumbers, choice('[under]', 'is, or is under')] : ofNumbers
  const byKind: Record<Kind, readonly Choice[]> = {
    text: hasParts ? [choice('[contains]', 'contains'), choice('[begins]', 'begins with'), ...ofTexts] : ofTexts,
    oneOf: ofTexts,
    uuid: [is, ...others],
    json: others.filter(({ operand }) => !operand),
    integer: ofIntegers,
    decimal: ofNumbers,
    date: ofTimes,
    instant: ofTimes,
    boolean: [is, choice('!=', 'is not')],
  }
  return byKind[kind]
}

/** Returns the words of a filter's operator; an unknown operator stands for itself. */
export function choiceOf(property: Property | undefined, { sign, values }: Filter): Choice {
  const operand = values.join('') !== '' || (sign !== '=' && sign !== '!=')
  const choices = choicesOf(property ?? { kind: 'text', hasParts: true, hasChain: false })
  return choices.find((one) => one.sign === sign && one.operand === operand) ?? choice(sign, sign, operand)
}

/** True for `may`, which finds the rows that the reader has the right to write. A view has this parameter among its filters. */
export const isMay = ({ name }: Filter) => name.toLowerCase() === 'may'

/** Returns a filter in words: `Status`, `is`, `Approved`. */
export function inWords(resource: Resource, filter: Filter): readonly [name: string, operator: string, value: string] {
  if (isMay(filter)) return [mayInWords(resource, filter), '', '']
  const property = findProperty(resource, filter.name)
  const { words, operand } = choiceOf(property, filter)
  const values = filter.values.map((value) => (value === '' ? 'no value' : formatOperand(property, value)))
  return [property?.label ?? filter.name, words, operand ? values.join(', ') : '']
}

/** Returns the filter by a span in words: `Away`, `between`, `1 – 31 Dec 2026`. */
export function spanInWords({ words, start: { kind } }: Span, { days, hours }: FoundSpan): readonly [string, string, string] {
  if (hours) return [words, 'between', `${formatDate(kind, hours.from)} and ${formatDate(kind, hours.to)}`]
  return [words, days.from === days.to ? 'on' : 'between', formatDays(days.from, days.to)]
}

/**
 * Returns the filter `may` in words: for `update(Status)`, "decide" if rights limit the new values of each of its properties,
 * otherwise "change".
 */
function mayInWords({ plural }: Resource, { values: [value = ''] }: Filter): string {
  const [, verb, list] = /^(\w+)(?:\((.*)\))?$/.exec(value) ?? []
  if (verb === 'delete') return 'that I may delete'
  if (verb !== 'update') return `may ${value}`
  const decided = knownStore.value.rights.flatMap(({ collection, becomes }) => (collection === plural ? (becomes ?? []) : []))
  const isDecided = list?.split(',').every((name) => decided.some(({ property }) => property === name.trim()))
  return isDecided ? 'that I may decide' : 'that I may change'
}
