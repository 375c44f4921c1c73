// Writes the typed client of a server as one TypeScript file.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { version } from '../../package.json'
import { type Entity, type Group, isGroup, keyOf, type Property } from '../model/entity.ts'
import type { Kind } from '../model/kinds.ts'
import { type Collection, isNamedView, type NamedView } from '../model/namedView.ts'
import { clientOperators } from '../model/operators.ts'
import { takesAggregate, takesPeriods } from '../parse/summary.ts'

type Member = Property | Group
/** Use of a type: `read` for rows that the server returns, `write` for values in bodies and in filters. */
type Mode = 'read' | 'write'

/** Names of the types of entities and named views. */
type Names = ReadonlyMap<Collection, string>

/** Files of the runtime, each after the files that it imports. */
const RUNTIME = [
  'error',
  'query',
  'paths',
  'exchange',
  'connection',
  'changes',
  'rights',
  'stream',
  'sync',
  'summary',
  'collection',
]
/**
 * Maximum number of an entity's paths through up to two references. With more, a compiler would take seconds, so the types have
 * only the paths through one reference.
 */
const PATHS_MAX = 5_000
/** Suffixes for the types of an entity, in the order of the type parameters of `RosterCollection`. */
const PARTS = ['', 'Write', 'Filter', 'Sort', 'Field', 'Kinds', 'Paths']
/** Suffixes for the types of a named view, in the order of the type parameters of `RosterView`. */
const VIEW_PARTS = PARTS.filter((part) => part !== 'Write')

/**
 * Returns the client of a server with these entities and named views: one TypeScript file without imports, from which Node can
 * strip the types.
 */
export function clientFile(entities: readonly Entity[], views: readonly NamedView[] = []): string {
  // The file `view` is added only if there are named views: with strict options, a compiler refuses a function that nothing uses.
  const runtime = [...RUNTIME, ...(views.length > 0 ? ['view'] : [])].map(runtimePart).join('\n')
  const names: Names = new Map([...entities, ...views].map((one) => [one, typeNameOf(one, runtime)] as const))
  const parts = [
    `// The client of Roster ${version}, made by \`npm run --silent roster generate client\`: make it again instead of changing it.`,
    rosterText(names),
    ...[...names.keys()].map((entity) => entityText(entity, names)),
    `const clientOperators: Readonly<Record<string, string>> = ${JSON.stringify(clientOperators)}`,
    runtime,
  ]
  return parts.join('\n\n').replace(/\n{3,}/g, '\n\n')
}

/** Returns the text of a runtime file, without the file's imports. Only names that begin with Roster stay exported. */
function runtimePart(file: string): string {
  return readFileSync(join(import.meta.dir, `${file}.ts`), 'utf8')
    .replace(/^import [^;]*? from '.*'\n/gm, '')
    .replace(/^export (?!\w+ Roster)/gm, '')
    .trim()
    .concat('\n')
}

/** Returns the entity's name, with a suffix if the runtime has a type or value of that name. */
function typeNameOf({ name }: Entity, runtime: string): string {
  const code = runtime.replace(/\/\*[\s\S]*?\*\/|\/\/.*|'[^'\n]*'/g, '')
  return new RegExp(`\\b${name}(${[...PARTS, 'Target'].join('|')})\\b`).test(`${code} Roster`) ? `${name}Row` : name
}

function rosterText(names: Names): string {
  // Turns `Companies` into `companies`.
  const nameOf = ({ plural }: Entity) => quoted(plural.charAt(0).toLowerCase() + plural.slice(1))
  const entries = [...names].map(([entity, name]) => ({ entity, name, key: nameOf(entity) }))
  const types = entries.map(({ entity, name, key }) => {
    const isView = isNamedView(entity)
    const parts = (isView ? VIEW_PARTS : PARTS).map((part) => name + part)
    const type = `${isView ? 'RosterView' : 'RosterCollection'}<${parts.join(', ')}>`
    return `  /** \`/${entity.plural}\` */\n  readonly ${key}: ${type}\n`
  })
  const values = entries.map(
    ({ entity, key }) => `    ${key}: ${isNamedView(entity) ? 'viewAt' : 'collectionAt'}(connection, '/${entity.plural}'),\n`,
  )
  const fed = [...names.keys()].filter((one) => !isNamedView(one))
  const plurals = fed.map(({ plural }) => `'${plural}'`).join(' | ') || 'never'
  return `/** All that the server has. */
export interface Roster {
${types.join('')}  /** What has changed in all of them. */
  readonly changes: RosterChanges<${plurals}>
  /** Returns what the key or person may do. */
  rights(call?: RosterCall): Promise<RosterRight<${plurals}>[]>
}

/** Returns a client of the server at \`url\`. @throws TypeError if the address or the key is not valid */
export function createRoster(options: RosterOptions): Roster {
  const connection = connect(options)
  return {
${values.join('')}    changes: changesOf(connection),
    rights: (call) => rightsOf(connection, call),
  }
}`
}

function entityText(entity: Collection, names: Names): string {
  const { members, properties, plural } = entity
  const name = names.get(entity)
  const objectOf = (mode: Mode) => objectText(members, mode, (member) => commentOf(member, entity))
  const named = ({ path }: Property) => `  | '${path.join('.')}'\n`
  const sorts = properties
    .filter(({ kind }) => kind.isCompared)
    .map(named)
    .join('')
  const fields = properties.map(named).join('')
  const groups = members.filter(isGroup).map(({ key }) => `  | '${key}'\n`)
  return `/** A row of ${plural} as the server answers it. */
export interface ${name} ${objectOf('read')}
${isNamedView(entity) ? '' : `\n/** Values of ${plural} to write. */\nexport interface ${name}Write ${objectOf('write')}\n`}
/** Filters of lists of ${plural}. */
export interface ${name}Filter extends RosterFilters<${name}Target> {}

/** Properties by which ${plural} can be sorted. */
export type ${name}Sort = RosterSorted<
${sorts}>

/** Properties of ${plural} to select with \`fields\`. */
export type ${name}Field =
${fields}${groups.join('')}  | keyof ${name}Paths

/** Properties of the rows to which references of ${plural} lead. */
export interface ${name}Paths extends RosterPaths<${name}Target> {}

/** Properties of ${plural} by their use in summaries. */
export interface ${name}Kinds extends RosterUses<${name}Target> {}

/** Own properties of ${plural}, and where their references lead. */
export interface ${name}Target {
  readonly row: ${name}
  readonly filter: {
${properties.map(filterText).join('')}  }
  readonly dated: ${unionOf(properties.filter(takesPeriods))}
  readonly summed: ${unionOf(properties.filter((property) => takesAggregate(property, 'sum')))}
  readonly compared: ${unionOf(properties.filter((property) => takesAggregate(property, 'minimum')))}
  readonly copied: ${copiesText(entity)}
  readonly references: ${referencesText(entity, names)}
  readonly reach: ${pathsOf(entity, 2) > PATHS_MAX ? 1 : 2}
}`
}

/** Returns a type with the name of each copied property, and the reference along which it is copied. */
function copiesText({ properties }: Entity): string {
  return typeOf(
    properties.flatMap((property) => {
      const along = properties.find(({ reference }) => reference?.copy?.column === property.column)
      return along ? [`${quoted(property.path.join('.'))}: '${along.path.join('.')}'`] : []
    }),
  )
}

function referencesText({ properties }: Entity, names: Names): string {
  return typeOf(
    properties.flatMap(({ path, reference }) => {
      const target = reference?.target && names.get(reference.target)
      return target ? [`${quoted(path.join('.'))}: ${target}Target`] : []
    }),
  )
}

/** Returns the number of paths from an entity through up to `references` references. */
function pathsOf({ properties }: Entity, references: number): number {
  const targets = properties.flatMap(({ reference }) => reference?.target ?? [])
  const pathsThrough = (target: Entity) => target.properties.length + (references > 1 ? pathsOf(target, references - 1) : 0)
  return targets.reduce((sum, target) => sum + pathsThrough(target), 0)
}

/** Returns the type of an object with these members. Without members, returns `object`: a type without keys. */
function typeOf(members: readonly string[]): string {
  return members.length === 0 ? 'object' : `{ ${members.map((member) => `readonly ${member}`).join('; ')} }`
}

function unionOf(properties: readonly Property[]): string {
  return properties.map(({ path }) => `'${path.join('.')}'`).join(' | ') || 'never'
}

function isWritable(member: Member): boolean {
  return isGroup(member) ? member.properties.some(isWritable) : member.writable
}

/** Writes the members of a type, for reading or for writing. */
function objectText<Of extends Member>(members: readonly Of[], mode: Mode, comment: (member: Of) => string, indent = ''): string {
  const lines = members
    .filter((member) => mode === 'read' || isWritable(member))
    .map((member) => {
      const above = `${indent}  /** ${comment(member).replaceAll('*/', '*\\/')} */\n`
      return `${above}${indent}  ${memberText(member, mode, `${indent}  `)}\n`
    })
  return `{\n${lines.join('')}${indent}}`
}

function memberText(member: Member, mode: Mode, indent: string): string {
  const key = quoted(keyOf(member)) + (mode === 'read' ? '' : '?')
  if (isGroup(member)) return `${key}: ${objectText(member.properties, mode, partComment, indent)} | null`
  const { nullable, jsonType } = member.kind
  // `unknown` includes null.
  return `${key}: ${typeText(member.kind, mode)}${nullable && jsonType !== 'unknown' ? ' | null' : ''}`
}

/** Returns the type of a value: a union if its kind has a list of values. */
function typeText({ values, temporal, jsonType }: Kind, mode: Mode): string {
  if (values !== undefined) return values.map((value) => `'${value}'`).join(' | ')
  return temporal === 'instant' && mode === 'write' ? 'string | Date' : jsonType
}

function filterText({ path, kind, reference }: Property): string {
  const test = kind.ordered ? 'RosterOrdered' : 'RosterEqual'
  // Operand types of properties with an order accept null already.
  const none = kind.nullable && !kind.ordered ? ' | null' : ''
  if (!kind.isCompared) return `    ${quoted(path.join('.'))}?: RosterPresence\n`
  const ofValues = kind.isFreeText ? 'RosterText' : `${test}<${typeText(kind, 'write')}${none}>`
  return `    ${quoted(path.join('.'))}?: ${reference?.isToItself ? 'RosterChained' : ofValues}\n`
}

function quoted(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : `'${key}'`
}

function commentOf(member: Member, { id, properties }: Entity): string {
  if (isGroup(member)) return 'Null where no part has a value.'
  if (member === id) return 'Read-only: the server makes it.'
  const source = properties.find(({ reference }) => reference?.copy?.column === member.column)
  if (source?.reference?.copy) {
    const { entity, copy } = source.reference
    const name = copy.source.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    return `Read-only: of the ${entity} that \`${source.path.join('.')}\` names, its \`${name}\`.`
  }
  if (member.computedFrom.length > 0) {
    const names = properties.filter(({ column }) => member.computedFrom.includes(column))
    return `Read-only: the server makes it of ${names.map(({ path }) => `\`${path.join('.')}\``).join(', ')}.`
  }
  return member.reference ? `The id of a row of ${member.reference.entity}.` : partComment(member)
}

function partComment({ kind, examples }: Property): string {
  const allowed = kind.allowed.charAt(0).toUpperCase() + kind.allowed.slice(1)
  return examples.length === 0 ? `${allowed}.` : `${allowed}, such as ${examples.join(', ')}.`
}
