// Writes the typed client of a server as one TypeScript file.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { version } from '../../package.json'
import { type Entity, type Group, isGroup, keyOf, type Property } from '../model/entity.ts'
import type { Kind, KindName } from '../model/kinds.ts'
import { clientOperators } from '../model/operators.ts'
import { takesAggregate, takesPeriods } from '../parse/summary.ts'

type Member = Property | Group
/** A row as it is read, or values that are written; filters take what is written. */
type Mode = 'read' | 'write'

/** Files of the runtime, in the order in which one needs the other. */
const RUNTIME = ['error', 'query', 'exchange', 'connection', 'changes', 'stream', 'sync', 'summary', 'collection']

/** The client of a server with these entities: one TypeScript file without imports, that Node can strip of its types. */
export function clientFile(entities: readonly Entity[]): string {
  const runtime = RUNTIME.map(runtimePart).join('\n')
  const names = new Map(entities.map((entity) => [entity, typeNameOf(entity, runtime)] as const))
  const parts = [
    `// The client of Roster ${version}, made by \`npm run --silent roster generate client\`: make it again instead of changing it.`,
    rosterText(names),
    ...[...names].map(([entity, name]) => entityText(entity, name)),
    `const clientOperators: Readonly<Record<string, string>> = ${JSON.stringify(clientOperators)}`,
    runtime,
  ]
  return parts.join('\n\n').replace(/\n{3,}/g, '\n\n')
}

/** A file of the runtime without its imports; exported is what programs name, and that begins with Roster. */
function runtimePart(file: string): string {
  return readFileSync(join(import.meta.dir, `${file}.ts`), 'utf8')
    .replace(/^import [^;]*? from '.*'\n/gm, '')
    .replace(/^export (?!\w+ Roster)/gm, '')
    .trim()
    .concat('\n')
}

/** The entity's name, unless the runtime has a type or a value that is called so. */
function typeNameOf({ name }: Entity, runtime: string): string {
  const code = runtime.replace(/\/\*[\s\S]*?\*\/|\/\/.*|'[^'\n]*'/g, '')
  return new RegExp(`\\b${name}(Write|Filter|Sort|Field|Kinds)?\\b`).test(`${code} Roster`) ? `${name}Row` : name
}

function rosterText(names: ReadonlyMap<Entity, string>): string {
  // `companies` of `Companies`.
  const nameOf = ({ plural }: Entity) => quoted(plural.charAt(0).toLowerCase() + plural.slice(1))
  const entries = [...names].map(([entity, name]) => ({ entity, name, key: nameOf(entity) }))
  const types = entries.map(({ entity, name, key }) => {
    const type = `RosterCollection<${['', 'Write', 'Filter', 'Sort', 'Field', 'Kinds'].map((part) => name + part).join(', ')}>`
    return `  /** \`/${entity.plural}\` */\n  readonly ${key}: ${type}\n`
  })
  const values = entries.map(({ entity, key }) => `    ${key}: collectionAt(connection, '/${entity.plural}'),\n`)
  const plurals = [...names.keys()].map(({ plural }) => `'${plural}'`).join(' | ') || 'never'
  return `/** All that the server has. */
export interface Roster {
${types.join('')}  /** What has changed in all of them. */
  readonly changes: RosterChanges<${plurals}>
}

/** A client of the server at \`url\`. @throws TypeError when address or key can be none */
export function createRoster(options: RosterOptions): Roster {
  const connection = connect(options)
  return {
${values.join('')}    changes: changesOf(connection),
  }
}`
}

function entityText(entity: Entity, name: string): string {
  const { members, properties, plural } = entity
  const objectOf = (mode: Mode) => objectText(members, mode, (member) => commentOf(member, entity))
  const sorts = properties.map(({ path }) => `  | '${path.join('.')}'\n`).join('')
  const groups = members.filter(isGroup).map(({ key }) => `  | '${key}'\n`)
  return `/** A row of ${plural} as the server answers it. */
export interface ${name} ${objectOf('read')}

/** Values that are written of a row of ${plural}. */
export interface ${name}Write ${objectOf('write')}

/** Filters of lists of ${plural}. */
export interface ${name}Filter {
${properties.map(filterText).join('')}}

/** Properties by which lists of ${plural} are sorted. */
export type ${name}Sort = RosterSorted<
${sorts}>

/** Properties of ${plural} that can be read alone. */
export type ${name}Field =
${sorts}${groups.join('')}

/** Properties of ${plural} by what summaries do with them. */
export interface ${name}Kinds {
  readonly dated: ${unionOf(properties.filter(takesPeriods))}
  readonly summed: ${unionOf(properties.filter((property) => takesAggregate(property, 'sum')))}
  readonly compared: ${unionOf(properties.filter((property) => takesAggregate(property, 'minimum')))}
}`
}

function unionOf(properties: readonly Property[]): string {
  return properties.map(({ path }) => `'${path.join('.')}'`).join(' | ') || 'never'
}

function isWritable(member: Member): boolean {
  return isGroup(member) ? member.properties.some(isWritable) : member.writable
}

/** Members as they are read, or those that are written. */
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
  return `${key}: ${typeText(member.kind, mode)}${member.kind.nullable ? ' | null' : ''}`
}

const TYPES: Readonly<Record<Exclude<KindName, 'oneOf'>, string>> = {
  text: 'string',
  boolean: 'boolean',
  integer: 'number',
  date: 'string',
  instant: 'string',
  decimal: 'number',
}

/** Type of a value; if the kind has a list of values, a union of them. */
function typeText({ name, values = [] }: Kind, mode: Mode): string {
  if (name === 'oneOf') return values.map((value) => `'${value}'`).join(' | ')
  return name === 'instant' && mode === 'write' ? 'string | Date' : TYPES[name]
}

function filterText({ path, kind }: Property): string {
  const test = kind.ordered ? 'RosterOrdered' : 'RosterEqual'
  const type = kind.name === 'text' ? 'RosterText' : `${test}<${typeText(kind, 'write')}>`
  return `  ${quoted(path.join('.'))}?: ${type}\n`
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
