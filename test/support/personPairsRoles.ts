// Random roles of a person: rights of the random keys, with variables in place of values, divided among roles that the person has.
import type { Verb } from '../../src/model/access.ts'
import type { Entity, Property } from '../../src/model/entity.ts'
import { parseRoles, RolesError } from '../../src/roles/roles.ts'
import { entities } from './entities.ts'
import type { Random } from './random.ts'
import { isAccepted } from './rightsPairsKeys.ts'
import { endOf } from './rightsPairsPaths.ts'
import { type Condition, KINDS, keyOf, type RandomKey, type RandomRight, randomKey, rightOf } from './rightsPairsRights.ts'
import { targetOf } from './rightsPairsRows.ts'

export const EMAIL = 'me@pairs.example'

export const employee = entities.find(({ name }) => name === 'Employee') as Entity

/** A person: roles file, claims of the token, and the key whose rights the person has by both. */
export interface RandomPerson {
  readonly roles: string
  readonly claims: Readonly<Record<string, unknown>>
  readonly key: RandomKey
}

/** Draws a person whose row has the id `me`, and to whom others report. `onRefused`: called for each file that is refused. */
export function randomPerson(random: Random, number: number, me: number, onRefused: () => void): RandomPerson {
  for (;;) {
    const drawn = randomKey(random, entities, KINDS[number % KINDS.length] as (typeof KINDS)[number])
    const person = bind(random, drawn, me)
    if (isAccepted(person.key, entities) && isFile(person.roles)) return person
    onRefused()
  }
}

function isFile(roles: string): boolean {
  try {
    parseRoles(roles, entities)
    return true
  } catch (error) {
    if (error instanceof RolesError) return false
    throw error
  }
}

/** A condition with values, and `open`, the same condition with variables for the values. */
interface Bound {
  readonly condition: Condition
  readonly open: Condition
}

/** Replaces values by the person's id and by claims, and divides the rights among roles. */
function bind(random: Random, { rights }: RandomKey, me: number): RandomPerson {
  const claims: Record<string, unknown> = { email: EMAIL, email_verified: true, groups: ['g0', 'g1'] }
  const bindAll = (entity: Entity, conditions: readonly Condition[]) =>
    conditions.map((condition) => bindOne(random, endOf(entity, condition.property), condition, me, claims))
  const bound: RandomRight[] = []
  const open: RandomRight[] = []
  for (const right of rights) {
    const filters = bindAll(right.entity, right.filters)
    const becomes = right.becomes && bindAll(right.entity, right.becomes)
    const withEach = (pick: (one: Bound) => Condition) =>
      rightOf({ ...right, filters: filters.map(pick), becomes: becomes?.map(pick) ?? null })
    bound.push(withEach((one) => one.condition))
    open.push(withEach((one) => one.open))
  }
  return { roles: fileOf(random, open), claims, key: keyOf(bound) }
}

function bindOne(
  random: Random,
  end: { readonly entity: Entity; readonly property: Property },
  condition: Condition,
  me: number,
  claims: Record<string, unknown>,
): Bound {
  const { property, sign, values } = condition
  const of = end.property.reference ? targetOf(end.property, entities) : end.property === end.entity.id ? end.entity : null
  if (of === employee && sign !== '[]' && random.chance(70))
    return { condition: { property, sign, values: [String(me)] }, open: { property, sign, values: ['{me.Id}'] } }
  const isBindable = property.kind.name === 'text' && !values.includes('')
  if (!isBindable || !random.chance(40)) return { condition, open: condition }
  const name = `c${Object.keys(claims).length}`
  claims[name] = sign === '[]' ? values : values[0]
  return { condition, open: { property, sign, values: [`{${name}}`] } }
}

/** Divides rights among roles that the person has, and adds roles that the person lacks. */
function fileOf(random: Random, rights: readonly RandomRight[]): string {
  const held = ['', 'when Employees?ManagerId={me.Id}', 'when {groups} has g1'].map((when): [string, string[]] => [when, []])
  for (const { text } of rights) (random.pick(held)[1] as string[]).push(variablesIn(text))
  // A person with these roles could read and write all rows.
  const whole = rights.map((right) => rightOf({ ...right, filters: [], becomes: null }).text)
  const others =
    rights.length === 0
      ? []
      : (['create', 'update', 'delete'] satisfies Verb[]).map((verb) => `${verb} ${rights[0]?.entity.plural}`)
  const missing: [string, string[]][] = [
    ['when {groups} has g', whole],
    ['when Employees?ManagerId={me.Id}&Id=<0', whole],
    ['when Employees?WorkEmail={nothing}', others],
  ]
  const roles = [...held, ...missing].filter(([, lines]) => lines.length > 0)
  const blocks = roles.map(([when, lines], index) => `role r${index} ${when}\n${lines.map((line) => `  ${line}\n`).join('')}`)
  return `me Employees?WorkEmail={email}\n\n${blocks.join('\n')}`
}

/** Restores the braces of variables: the roles file looks for variables before it decodes a text. */
function variablesIn(text: string): string {
  return text.replaceAll(/%7B([\w.]+)%7D/g, '{$1}')
}
