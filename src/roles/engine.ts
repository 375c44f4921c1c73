// Finds the rights of persons: finds their own row and the roles that apply, and binds the variables of these roles' rights.
import type { GrantedRights, Origin, Right } from '../model/access.ts'
import type { Entity } from '../model/entity.ts'
import { LruCache } from '../model/lruCache.ts'
import { baseOf } from '../model/namedView.ts'
import type { Filter } from '../model/query.ts'
import type { RowQuestions } from '../model/rowQuestions.ts'
import type { Row } from '../model/sql.ts'
import type { Claims } from '../model/token.ts'
import { signedTextOf } from '../rights/accesses.ts'
import { bindFilters, Missing } from './binding.ts'
import type { RolesFile } from './file.ts'
import { Needs, type Outcome, Person } from './person.ts'
import { type Collections, PersonRights } from './personRights.ts'
import { ANY_TIME, type RequestTime, requestTime } from './requestTime.ts'

/**
 * Maximum memory of the kept rights of persons, in bytes: enough for some 6,000 persons in each of the two generations of the
 * cache.
 */
const KEPT_BYTES_MAX = 192 * 2 ** 20
/** Estimated memory of a person's views, accesses and guards, in bytes. */
const BYTES_OF_PERSON = 12_000
/** Maximum memory of the bound rights that persons share, in bytes, for the two generations of the cache together. */
const SHARED_BYTES_MAX = 128 * 2 ** 20
/** Estimated memory of a bound right without its text, in bytes. */
const BYTES_OF_RIGHT = 1_500
/** Estimated memory of a character in the text of a bound right, in bytes. A list of 1,000 values makes the text long. */
const BYTES_OF_CHARACTER = 10

/**
 * Facts about a person, cached for the claims of her token. They are valid only at this `time` and with this `isEmailVerified`.
 */
interface TokenFacts {
  readonly isEmailVerified: boolean
  readonly time: RequestTime
  /** Filters that find her own row; null if the file does not look for a row of the person. */
  readonly finder: readonly Filter[] | Missing | null
  /** The person with the row that was read last; null if no row was read yet. */
  person: Person | null
}

/** A role, whether it applies to a person, and which of its rights exist for her. */
interface RoleOutcome {
  readonly name: string
  /** Reason why the role does not apply; null if it applies. */
  readonly reason: string | null
  readonly rights: readonly Outcome[]
}

/** Explanation of which rights a person has, and why. */
export interface Explanation {
  /** Path of the person's own row, such as `Employees/7`; null if she has no row, or the file does not look for one. */
  readonly own: string | null
  /** Reason why no role can apply; null if some role may apply. */
  readonly reason: string | null
  readonly roles: readonly RoleOutcome[]
  readonly rights: GrantedRights
}

export class Engine {
  private readonly needs: Needs
  private readonly facts = new WeakMap<Claims, TokenFacts>()
  private readonly kept = new LruCache<PersonRights>(KEPT_BYTES_MAX, (_, text) => BYTES_OF_PERSON + 6 * text.length)
  private readonly shared = new LruCache<Right>(SHARED_BYTES_MAX, (_, text) => BYTES_OF_RIGHT + BYTES_OF_CHARACTER * text.length)
  /**
   * Empty rights for persons who have no row, by the reason why they have no row. A roles file has few reasons, so this map stays
   * small.
   */
  private readonly unknown = new Map<string, PersonRights>()

  constructor(
    private readonly file: RolesFile,
    private readonly collections: Collections,
  ) {
    this.needs = new Needs(file)
  }

  rightsOf(claims: Claims, questions: RowQuestions, isEmailVerified: boolean): GrantedRights | Promise<GrantedRights> {
    const facts = this.factsOf(claims, isEmailVerified)
    const row = this.findRow(facts, questions)
    return row instanceof Promise
      ? row.then((one) => this.ofRow(facts, claims, one, questions))
      : this.ofRow(facts, claims, row, questions)
  }

  /** Returns which rights a person has, and why. */
  async explain(claims: Claims, questions: RowQuestions, isEmailVerified: boolean): Promise<Explanation> {
    const facts = this.factsOf(claims, isEmailVerified)
    const row = await this.findRow(facts, questions)
    if (row === 'none') {
      const reason = facts.finder instanceof Missing ? facts.finder.reason : reasonOfUnknown(this.file)
      return { own: null, reason, roles: [], rights: this.ofUnknown(facts) }
    }
    const person = this.personOf(facts, claims, row)
    const answers = await Promise.all(answersOf(person, questions))
    const roles = this.file.roles.map((role): RoleOutcome => {
      const applies = person.applies(role, answers)
      const rights = applies === true ? person.outcomes(role) : []
      return { name: role.name, reason: applies === true ? null : applies.reason, rights }
    })
    return { own: this.pathOf(row), reason: null, roles, rights: this.grant(person, answers) }
  }

  private pathOf(row: Row | null): string | null {
    const { me } = this.file
    return me && row && `${me.entity.plural}/${row[me.entity.properties.indexOf(me.entity.id)]}`
  }

  private factsOf(claims: Claims, isEmailVerified: boolean): TokenFacts {
    const time = this.needs.usesTime ? requestTime() : ANY_TIME
    const before = this.facts.get(claims)
    if (before?.time === time && before.isEmailVerified === isEmailVerified) return before
    const { me } = this.file
    const finder = me && bindFilters(me.filters, { claims, isEmailVerified, time, ownCell: () => null })
    const facts = { isEmailVerified, time, finder, person: null }
    this.facts.set(claims, facts)
    return facts
  }

  /** Returns the person's own row; 'none' if she has no row, null if the file does not look for one. */
  private findRow({ finder }: TokenFacts, questions: RowQuestions): Row | null | 'none' | Promise<Row | 'none'> {
    const { me } = this.file
    if (me === null || finder === null) return null
    if (finder instanceof Missing) return 'none'
    const row = questions.only(me.entity, finder)
    return row instanceof Promise ? row.then((one) => one ?? 'none') : (row ?? 'none')
  }

  /**
   * Returns empty rights for a person without a row. If her row cannot be looked for because of a claim, the refusals of these
   * rights say what is wrong with the claim.
   */
  private ofUnknown({ finder }: TokenFacts): PersonRights {
    const told = finder instanceof Missing ? finder.told : null
    const reason = told ?? reasonOfUnknown(this.file)
    return this.unknown.getOrInsertComputed(reason, () => new PersonRights([], this.collections, this.share, { reason }))
  }

  private ofRow(facts: TokenFacts, claims: Claims, row: Row | null | 'none', questions: RowQuestions) {
    if (row === 'none') return this.ofUnknown(facts)
    const person = this.personOf(facts, claims, row)
    const answers = answersOf(person, questions)
    return answers.some((answer) => answer instanceof Promise)
      ? Promise.all(answers).then((all) => this.grant(person, all))
      : this.grant(person, answers as boolean[])
  }

  private personOf(facts: TokenFacts, claims: Claims, row: Row | null): Person {
    if (facts.person?.isOf(row)) return facts.person
    const { isEmailVerified, time } = facts
    return (facts.person = new Person(this.needs, claims, isEmailVerified, row, time))
  }

  /**
   * Returns the rights that follow from the answers to the person's questions about lists. Persons with the same rights get the
   * same object.
   */
  private grant(person: Person, answers: readonly boolean[]): PersonRights {
    const key = answers.map(Number).join('')
    const last = person.granted.get(key)?.deref()
    if (last) return last
    const applying = this.file.roles.filter((role) => person.applies(role, answers) === true)
    const outcomes = applying.flatMap((role) => person.outcomes(role))
    const origins = this.originsOf(outcomes)
    const unread = unreadOf(outcomes)
    // The key of the cache contains the line, because persons may have the same rights from different lines of the file.
    const given = [...origins].map(([right, { line }]) => `${keyOf(right)}\t${line}`)
    const text = [...given, ...unread.map(({ plural }) => `-${plural}`)].join('\n')
    const kept = this.kept.get(text) ?? new PersonRights([...origins.keys()], this.collections, this.share, { origins, unread })
    this.kept.set(text, kept)
    person.granted.set(key, new WeakRef(kept))
    return kept
  }

  /**
   * Returns the rights that exist for the person, in the order of the file. Each right occurs once, and has as its origin the
   * first role that gives it.
   */
  private originsOf(outcomes: readonly Outcome[]): Map<Right, Origin & { readonly line: number }> {
    const origins = new Map<Right, Origin & { readonly line: number }>()
    for (const { role, source, result } of outcomes) {
      if (result instanceof Missing) continue
      const { right, line } = source
      origins.getOrInsert(this.share(result), { role, template: right.text, line })
    }
    return origins
  }

  /** Returns the same object for all rights with the same text, so that persons share the views that belong to this object. */
  private readonly share = (right: Right): Right => {
    const key = keyOf(right)
    const shared = this.shared.get(key)
    if (shared) return shared
    this.shared.set(key, right)
    return right
  }
}

/**
 * Returns a text that identifies a bound right. A right with a fixed date differs from a right with `{today}`, even on that date.
 */
function keyOf(right: Right): string {
  return `${right.text}\t${right.signedText === undefined ? '' : signedTextOf(right)}`
}

/**
 * Returns the entities that a person cannot read, not even in a view, but could read if the variables of her rights had values.
 */
function unreadOf(outcomes: readonly Outcome[]): Entity[] {
  const reads = outcomes.filter(({ source }) => source.right.verb === 'read')
  const entityOf = ({ source }: Outcome) => baseOf(source.right.collection)
  const read = new Set(reads.filter(({ result }) => !(result instanceof Missing)).map(entityOf))
  return [...new Set(reads.map(entityOf))].filter((entity) => !read.has(entity))
}

/** Asks for each list whether it has a row, for all lists at the same time. */
function answersOf({ questions }: Person, rows: RowQuestions): (boolean | Promise<boolean>)[] {
  return questions.map((question) => !(question instanceof Missing) && rows.some(question.entity, question.filters))
}

function reasonOfUnknown({ me }: RolesFile): string {
  return `no row of ${me?.entity.plural} is yours by the roles file, or several are`
}
