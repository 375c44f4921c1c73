// The lines of a roles file: `me`, views, and the blocks of roles and keys with the rights below them.
import { VERBS } from '../model/access.ts'
import { excerpt } from '../model/excerpt.ts'
import { suggest } from '../model/nearest.ts'
import { listed } from '../parse/names.ts'
import type { FaultList } from './faults.ts'

/** A line, or a part of a line, without its comment. */
export interface Line {
  /** The line's number in the file, from 1. */
  readonly number: number
  readonly text: string
}

/** A role or a key, and the rights below it. */
export interface Block {
  readonly number: number
  readonly name: string
  /** Condition of a role as the file writes it; null if everybody has the role, or if the block is of a key. */
  readonly when: string | null
  readonly rights: Line[]
}

export interface Statements {
  /** Addresses in the lines `me`. A valid file has at most one such line. */
  readonly me: Line[]
  /** Names of views, and the addresses of the lists that they show. */
  readonly views: (Line & { readonly name: string })[]
  readonly roles: Block[]
  readonly keys: Block[]
}

/** Maximum length of the file, in UTF-16 units. */
const FILE_LENGTH_MAX = 500_000
const VIEWS_MAX = 50
const ROLES_MAX = 100
const KEYS_MAX = 200
/** Maximum number of lines with rights in the blocks of all roles together. */
const ROLE_RIGHTS_MAX = 500
/** Maximum number of lines with rights in the block of one key. */
const KEY_RIGHTS_MAX = 100

const KEYWORDS = ['me', 'view', 'role', 'key']
/**
 * Matches a comment, which begins at the start of a line or after a space; within a value, `#` is part of the value. The flag `s`
 * is set, because a line can contain U+2028.
 */
const COMMENT = /(?:^|\s)#.*$/s
const NAME = /^[A-Za-z][\w-]{0,49}$/
const ROLE = /^(\S+)(?:\s+when\s+(.+))?$/s

/** Splits a roles file into its statements. Notes a fault for each line that is not a statement. */
export function readStatements(text: string, faults: FaultList): Statements {
  const statements: Statements = { me: [], views: [], roles: [], keys: [] }
  if (text.length > FILE_LENGTH_MAX) {
    faults.add(1, `a roles file has up to ${FILE_LENGTH_MAX} characters, and this one has ${text.length}.`)
    return statements
  }
  /** Rights of the last role or key; null if the last statement cannot have rights below it. */
  let rights: Line[] | null = null
  for (const [index, written] of text.split(/\r\n|\r|\n/).entries()) {
    const line = { number: index + 1, text: written.replace(COMMENT, '').trim() }
    if (line.text === '') continue
    if (!/^\s/.test(written)) rights = readStatement(statements, line, faults)
    else if (rights) rights.push(line)
    else faults.add(line.number, 'an indented line is a right, and stands below a role or a key: write role <name> above it.')
  }
  checkCounts(statements, faults)
  return statements
}

/**
 * Reads a line that begins a statement. Returns the list to which the rights below it are added; null if no rights may follow.
 */
function readStatement(statements: Statements, { number, text }: Line, faults: FaultList): Line[] | null {
  const [, keyword = '', rest = ''] = /^(\S+)\s*(.*)$/s.exec(text) as RegExpExecArray
  if (keyword === 'role' || keyword === 'key') {
    const block = readBlock(keyword, { number, text: rest }, faults)
    const blocks = keyword === 'role' ? statements.roles : statements.keys
    const before = blocks.find(({ name }) => name.toLowerCase() === block.name.toLowerCase())
    if (before && block.name !== '')
      faults.add(number, `there is a ${keyword} ${before.name} in line ${before.number}: write its rights below that.`)
    blocks.push(block)
    return block.rights
  }
  if (keyword === 'me') statements.me.push({ number, text: rest })
  else if (keyword === 'view') {
    const [, name = '', address = ''] = /^(\S*)\s*(.*)$/s.exec(rest) as RegExpExecArray
    statements.views.push({ number, name, text: address })
  } else faults.add(number, faultOfKeyword(keyword))
  return null
}

function faultOfKeyword(keyword: string): string {
  if ([...VERBS, 'write'].includes(keyword.toLowerCase()))
    return 'a right is indented, below its role or key: begin the line with spaces.'
  const form = `a line begins with ${listed(KEYWORDS, 'or')}, or is indented`
  return `"${excerpt(keyword, 40)}" begins no statement: ${form}.${suggest(keyword, KEYWORDS)}`
}

/** Reads the text after the keyword `role` or `key`. A faulty name becomes '', so that the rights below it are still read. */
function readBlock(keyword: 'role' | 'key', { number, text }: Line, faults: FaultList): Block {
  const [, name = '', when = null] = ROLE.exec(text) ?? []
  const form = keyword === 'role' ? 'role <name>, or role <name> when <condition>' : 'key <name>'
  if (name === '' || (keyword === 'key' && when !== null))
    faults.add(number, `it is not of the form ${form}.${keyword === 'key' && when ? ' A key has no condition.' : ''}`)
  else if (!NAME.test(name))
    faults.add(
      number,
      `"${excerpt(name, 60)}" cannot be a name: it begins with a letter A to Z, and up to 49 letters, digits, _ or - follow.`,
    )
  return { number, name: NAME.test(name) ? name : '', when, rights: [] }
}

function checkCounts({ me, views, roles, keys }: Statements, faults: FaultList) {
  const [first, second] = me
  if (first && second) faults.add(second.number, `"me" stands in line ${first.number} already: a file has one.`)
  checkCount(views, VIEWS_MAX, 'views', faults)
  checkCount(roles, ROLES_MAX, 'roles', faults)
  checkCount(keys, KEYS_MAX, 'keys', faults)
  checkCount(
    roles.flatMap(({ rights }) => rights),
    ROLE_RIGHTS_MAX,
    'rights of roles',
    faults,
  )
  for (const { name, rights } of keys) checkCount(rights, KEY_RIGHTS_MAX, `rights of the key ${name}`, faults)
}

function checkCount(all: readonly { readonly number: number }[], max: number, what: string, faults: FaultList) {
  const first = all[max]
  if (first) faults.add(first.number, `a file has up to ${max} ${what}.`)
}
