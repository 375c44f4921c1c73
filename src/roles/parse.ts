// Parses a roles file: its statements, by the grammar of rights, with the variables that each statement can have.
import { Refused } from '../errors.ts'
import type { Right } from '../model/access.ts'
import type { Entity } from '../model/entity.ts'
import { excerpt } from '../model/excerpt.ts'
import { type Collection, isNamedView, type NamedView } from '../model/namedView.ts'
import { equality } from '../model/operators.ts'
import type { Filter } from '../model/query.ts'
import { checkVerb, parseRight } from '../rights/grammar.ts'
import { parseNamedView, standInView } from '../rights/namedViews.ts'
import { isOpen } from '../rights/openFilter.ts'
import { printAddress } from '../rights/print.ts'
import { checkFile } from './checks.ts'
import { FaultList, FollowsFromFault } from './faults.ts'
import type { Condition, KeyBlock, RightInFile, Role, RolesFile, RowList } from './file.ts'
import { type Block, type Line, readStatements, type Statements } from './statements.ts'
import { filterReader, readVariable, type Scope } from './variables.ts'

const ME_ONLY_CLAIMS = 'this line finds the row of {me}, by claims.'
const NO_ME = 'the file has no line such as me Employees?WorkEmail={email}'
const NO_PERSON = 'a key is no person.'
/** Matches a condition such as `{groups} has hr`. */
const HAS = /^\{([^{}%+&#\s]{1,100})\}\s+has\s+(.+)$/s
/** Matches a condition that lacks its braces, such as `groups has hr`. */
const BARE_HAS = /^([^{}%+&#?\s]{1,100})\s+has\s+(.+)$/s

/** Parses and checks a roles file. @throws RolesError that has all faults */
export function parseFile(text: string, entities: readonly Entity[]): RolesFile {
  const faults = new FaultList()
  const statements = readStatements(text, faults)
  const file = new Parser(statements, entities, faults).parse()
  checkFile(file, entities, faults)
  faults.throwIfAny()
  return file
}

type ViewLine = Statements['views'][number]

class Parser {
  private readonly views: NamedView[] = []
  /** Substitutes for views whose lines have faults, so that rights to these views can be parsed. */
  private readonly standIns = new Set<Collection>()
  private collections: readonly Collection[]

  constructor(
    private readonly statements: Statements,
    private readonly entities: readonly Entity[],
    private readonly faults: FaultList,
  ) {
    this.collections = entities
  }

  parse(): RolesFile {
    const { faults, statements } = this
    for (const view of statements.views) this.addView(view)
    const [meLine] = statements.me
    const me = meLine ? (faults.try(meLine.number, () => this.readMe(meLine)) ?? null) : null
    const persons: Scope = { me: me?.entity ?? null, claimsRefusal: null, ownRefusal: meLine ? null : NO_ME }
    const keys: Scope = { me: null, claimsRefusal: NO_PERSON, ownRefusal: NO_PERSON }
    return {
      me,
      views: this.views,
      roles: statements.roles.map((block) => this.readRole(block, persons)),
      keys: statements.keys.map((block) => this.readKey(block, keys)),
    }
  }

  private addView(line: ViewLine) {
    const view = this.faults.try(line.number, () => this.readView(line))
    if (view) this.views.push(view)
    const known = view ?? this.standInFor(line)
    if (known) this.collections = [...this.collections, known]
  }

  private readView({ name, text }: ViewLine): NamedView {
    if (name === '' || text === '')
      throw new Refused('a view is a name and the address of a list, such as view Directory Employees?fields=Id,DisplayName')
    if (/[{}]/.test(text))
      throw new Refused('a view has no variables: put the condition into the rights to read it. In a text write %7B and %7D.')
    return parseNamedView(name, text, this.collections)
  }

  /**
   * Returns a substitute for a faulty view; null if the view's entity is not known, or another collection has the view's name.
   */
  private standInFor({ name, text }: ViewLine): NamedView | null {
    const [, plural = ''] = /^\/?([^\s?&]+)/.exec(text) ?? []
    const base = this.entities.find(isNamed(plural))
    if (name === '' || base === undefined || this.collections.some(isNamed(name))) return null
    const standIn = standInView(name, base)
    this.standIns.add(standIn)
    return standIn
  }

  private readMe({ text }: Line): RowList {
    if (text === '') throw new Refused('"me" is the address of a list, such as me Employees?WorkEmail={email}')
    const list = this.readList(text, { me: null, claimsRefusal: null, ownRefusal: ME_ONLY_CLAIMS }, this.entities)
    const isFound = list.filters.some(
      (filter) => isOpen(filter) && filter.variable.kind === 'claim' && (filter.operator === equality || filter.operator.isAny),
    )
    if (!isFound)
      throw new Refused(`"me" finds the row of a person by a claim, such as me ${list.entity.plural}?WorkEmail={email}`)
    return list
  }

  private readRole(block: Block, scope: Scope): Role {
    const { number, name, when } = block
    const condition = when === null ? null : (this.faults.try(number, () => this.readCondition(when, scope)) ?? null)
    return { name, line: number, when: condition, rights: this.readRights(block, scope) }
  }

  private readKey(block: Block, scope: Scope): KeyBlock {
    return { name: block.name, line: block.number, rights: this.readRights(block, scope) }
  }

  private readRights({ rights }: Block, scope: Scope): RightInFile[] {
    return rights.flatMap((line) => {
      const read = () => {
        const read = parseRight(line.text, this.knownFor(line.text), filterReader(scope))
        for (const { filters, becomes } of read) requireUnmixed([...filters, ...(becomes ?? [])])
        return read.filter(({ collection }) => !this.standIns.has(collection))
      }
      return (this.faults.try(line.number, read) ?? []).map((right) => ({ right, line: line.number }))
    })
  }

  /** Returns the collections that a right can name. @throws FollowsFromFault for a right to a view whose entity is not known */
  private knownFor(text: string): readonly Collection[] {
    const [, plural = ''] = /^\S+\s+\/?([^\s?&]+)/.exec(text) ?? []
    const isOfView = this.statements.views.some(({ name }) => name.toLowerCase() === plural.toLowerCase())
    if (!isOfView || this.collections.some(isNamed(plural))) return this.collections
    checkVerb(text)
    throw new FollowsFromFault()
  }

  private readCondition(text: string, scope: Scope): Condition {
    const [, name, value] = HAS.exec(text) ?? []
    if (name !== undefined && value !== undefined) {
      const variable = readVariable(name, scope)
      if (variable.kind === 'today' || variable.kind === 'now')
        throw new Refused(
          `{${name}} is a time, and has no value such as ${excerpt(value, 40)}: name a claim, or a property of {me}.`,
        )
      return { kind: 'has', variable, value: decode(value) }
    }
    const [, bareName, bareValue] = BARE_HAS.exec(text) ?? []
    if (bareName !== undefined)
      throw new Refused(
        `"${excerpt(text)}" is no condition: braces stand around a name. Write {${bareName}} has ${excerpt(bareValue ?? '', 60)}.`,
      )
    if (text.startsWith('{'))
      throw new Refused(`"${excerpt(text)}" is no condition: write {groups} has hr, or the address of a list that has a row.`)
    const list = this.readList(text, scope, this.entities)
    if (list.filters.length === 0)
      throw new Refused(
        `a condition without filters says nothing about a person: write ${list.entity.plural}?ManagerId={me.Id}, for example.`,
      )
    return { kind: 'list', list }
  }

  /** Reads the address of a list. It must not have `fields`, because no properties of the list are shown. */
  private readList(text: string, scope: Scope, collections: readonly Collection[]): RowList {
    const [right] = parseRight(`read ${text}`, collections, filterReader(scope)) as [Right]
    const { collection: entity, filters, properties } = right
    if (isNamedView(entity) || properties !== null)
      throw new Refused(`"${excerpt(text)}": it asks for rows, and shows none: leave fields out.`)
    requireUnmixed(filters)
    return { entity, filters, text: printAddress(entity, filters, null) }
  }
}

function isNamed(name: string): (collection: Collection) => boolean {
  return ({ plural }) => plural.toLowerCase() === name.toLowerCase()
}

/** Refuses two filters with `[]` by one property if one of them has a variable: their values would be united. @throws Refused */
function requireUnmixed(filters: readonly Filter[]) {
  const any = filters.filter(({ operator }) => operator.isAny)
  const mixed = any.find((one) => isOpen(one) && any.some((other) => other !== one && other.property === one.property))
  if (mixed)
    throw new Refused(`${mixed.property.name}[] with a variable can stand only once, since its values are those of the variable.`)
}

/**
 * Decodes percent escapes. Without an escape, a value cannot contain a `#` after a space. @throws Refused for a malformed escape
 */
function decode(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    throw new Refused(`"${excerpt(value)}" has a percent escape that means nothing: write %25 for %.`)
  }
}
