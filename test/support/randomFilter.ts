import type { Entity, Property } from '../../src/model/entity.ts'
import { operators } from '../../src/model/operators.ts'
import type { Filter } from '../../src/model/query.ts'
import { wholeView } from '../../src/model/view.ts'
import { addFilter, parseFilter } from '../../src/parse/filter.ts'
import { foldedText } from './foldedText.ts'
import type { Random } from './random.ts'
import { operandNear } from './values.ts'

/**
 * Draws a filter by any operator of the property. `near`: draws a value near the values of rows for the operand; null: no value.
 */
export function randomFilter(entity: Entity, property: Property, random: Random, near: () => string | null): Filter {
  const { kind, name } = property
  const { sign, isAny, folded, compileEmpty } = random.pick(
    operators.filter(({ serves, isChain }) => serves(property) && !isChain),
  )
  const operand = () => (compileEmpty !== null && random.chance(10) ? '' : operandNear(kind.name, near(), random))
  const parsed = (name: string, value: string) => parseFilter(wholeView(entity), { name, value, raw: '' })
  if (folded) return parsed(name + sign, partOf(operand(), random))
  if (!isAny) return parsed(name, sign + operand())
  const filters: Filter[] = []
  for (let left = random.pick([1, 2, 3, 20, 60]); left > 0; left--) addFilter(filters, parsed(name + sign, operand()))
  return filters[0] as Filter
}

/** Draws a part of a text, in another case or form, with at least one character that counts. */
function partOf(text: string, random: Random): string {
  const characters = Array.from(text)
  const from = random.chance(50) ? 0 : random.below(characters.length + 1)
  const drawn = characters.slice(from, from + 1 + random.below(4)).join('')
  const part = foldedText(drawn) === '' ? 'e' : drawn
  return random.pick([part, part.toUpperCase(), part.toLowerCase(), part.normalize('NFD')])
}
