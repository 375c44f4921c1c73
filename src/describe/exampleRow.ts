// Example rows for the OpenAPI document: plausible values by the name and the kind of each property.
import { type Entity, type Group, isGroup, keyOf, type Property } from '../model/entity.ts'
import type { KindName, TemporalName } from '../model/kinds.ts'

/** Example texts by patterns of property names; the first pattern that matches counts. */
const TEXTS: readonly (readonly [RegExp, string])[] = [
  [/(number|code)$/i, 'E00001'],
  [/^(firstName|givenName|forename|knownAs)$/, 'Ada'],
  [/^middleName$/, 'King'],
  [/^(lastName|familyName|surname)$/, 'Byron'],
  [/^(displayName|employee|person)$/, 'Ada Byron'],
  [/^manager$/, 'Grace Hopper'],
  [/mail$/i, 'ada@example.com'],
  [/(phone|mobile|fax)$/i, '+44 20 7946 0123'],
  [/^title$/, 'Dr'],
  [/^(company|employer|customer|supplier|name)$/, 'Analytical Engines'],
  [/^(department|team)$/, 'Engineering'],
  [/^(division|region)$/, 'North'],
  [/^(location|city|office|site|room)$/, 'London'],
  [/^(jobTitle|position|role)$/, 'Engineer'],
  [/(level|grade)$/i, 'Senior'],
]

const exampleByKind: Readonly<Record<KindName, (property: Property) => unknown>> = {
  text: exampleText,
  oneOf: ({ kind }) => kind.values?.[0],
  uuid: () => '0192e4a8-5c7e-7d3a-9b1f-2f6c8d4e0a17',
  boolean: () => true,
  integer: (property) => inRange(property, 1),
  decimal: (property) => inRange(property, 2.5),
  date: () => '2026-03-02',
  instant: () => '2026-03-02T09:00:00Z',
  json: () => ({ theme: 'dark' }),
}
/** Example dates of properties that must not be before another property. */
const laterByKind: Readonly<Record<TemporalName, string>> = { date: '2026-03-04', instant: '2026-03-04T17:00:00Z' }

/** Returns a row as in a response, with a value in every property. */
export function exampleRow(entity: Entity, members = entity.members): Record<string, unknown> {
  const oneOf = (member: Property | Group) =>
    isGroup(member) ? exampleRow(entity, member.properties) : exampleOf(entity, member)
  return Object.fromEntries(members.map((member) => [keyOf(member), oneOf(member)]))
}

/** Returns an example value of a property, as in a response. */
export function exampleOf({ rules }: Entity, property: Property): unknown {
  const { name } = property.kind
  const isLater = rules.some(({ later }) => later === property)
  return isLater ? laterByKind[name as TemporalName] : exampleByKind[name](property)
}

function exampleText(property: Property): string {
  const [, text = 'text'] = TEXTS.find(([pattern]) => pattern.test(keyOf(property))) ?? []
  return property.examples[0] ?? text.slice(0, property.kind.lengthMax)
}

/** Returns the number in the property's range that is nearest to `number`. */
function inRange({ kind: { range } }: Property, number: number): number {
  return range ? Math.min(Math.max(number, range.min), range.max) : number
}
