// Finds the rights of persons: their own row, the roles that apply, and the rights of these with their variables bound.
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

/** Maximum memory of the rights that are kept, in bytes: those of some 6,000 persons in each of two generations of the cache. */
const KEPT_BYTES_MAX = 192 * 2 ** 20
/** Estimate of the views, accesses and guards of a person, in bytes. */
const BYTES_OF_PERSON = 12_000
/** Maximum memory of the bound rights that persons share, in bytes; as above. */
const SHARED_BYTES_MAX = 128 * 2 ** 20
/** Estimate of a bound right without its values, in bytes, and for each character of its text: a list may have 1,000 values. */
const BYTES_OF_RIGHT = 1_500
const BYTES_OF_CHARACTER = 10

/** Facts of a person that follow only from her token. */
interface TokenFacts {
  readonly isEmailVerified: boolean
  readonly time: RequestTime
  /** Filters that find her own row; null: persons need none. */
  readonly finder: readonly Filter[] | Missing | null
  /** The person by the row that was read last; null: none was read yet. */
  person: Person | null
}

/** A role, whether it applies to a person, and which of its rights exist. */
interface RoleOutcome {
  readonly name: string
  /** Why it does not apply; null: it does. */
  readonly reason: string | null
  readonly rights: readonly Outcome[]
}

/** Which rights a person has, and why. */
export interface Explanation {
  /** The own row, as `Employees/7`; null: there is none, or persons need none. */
  readonly own: string | null
  /** Why none of the roles applies; null: some may. */
  readonly reason: string | null
  readonly roles: readonly RoleOutcome[]
  readonly rights: GrantedRights
}

export class Engine {
  private readonly needs: Needs
  private readonly facts = new WeakMap<Claims, TokenFacts>()
  private readonly kept = new LruCache<PersonRights>(KEPT_BYTES_MAX, (_, text) => BYTES_OF_PERSON + 6 * text.length)
  private readonly shared = new LruCache<Right>(SHARED_BYTES_MAX, (_, text) => BYTES_OF_RIGHT + BYTES_OF_CHARACTER * text.length)
  /** The empty rights of persons without a row, by the reason why they have none. A file has few reasons. */
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

  /** Says which rights a person has, and why. */
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

  /** Finds the person's own row. Null: she needs none. */
  private findRow({ finder }: TokenFacts, questions: RowQuestions): Row | null | 'none' | Promise<Row | 'none'> {
    const { me } = this.file
    if (me === null || finder === null) return null
    if (finder instanceof Missing) return 'none'
    const row = questions.only(me.entity, finder)
    return row instanceof Promise ? row.then((one) => one ?? 'none') : (row ?? 'none')
  }

  /** Returns the rights of a person without a row: none. They say what is wrong with her claim, if that is why. */
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

  /** Returns the rights that follow from the answers about lists: the same object for persons with the same rights. */
  private grant(person: Person, answers: readonly boolean[]): PersonRights {
    const key = answers.map(Number).join('')
    const last = person.granted.get(key)?.deref()
    if (last) return last
    const applying = this.file.roles.filter((role) => person.applies(role, answers) === true)
    const outcomes = applying.flatMap((role) => person.outcomes(role))
    const origins = this.originsOf(outcomes)
    const unread = unreadOf(outcomes)
    // Persons with the same rights from other lines of the file have other origins.
    const given = [...origins].map(([right, { line }]) => `${keyOf(right)}\t${line}`)
    const text = [...given, ...unread.map(({ plural }) => `-${plural}`)].join('\n')
    const kept = this.kept.get(text) ?? new PersonRights([...origins.keys()], this.collections, this.share, { origins, unread })
    this.kept.set(text, kept)
    person.granted.set(key, new WeakRef(kept))
    return kept
  }

  /** Returns the rights that exist, each once, in the order of the file, with the first role that gives them. */
  private originsOf(outcomes: readonly Outcome[]): Map<Right, Origin & { readonly line: number }> {
    const origins = new Map<Right, Origin & { readonly line: number }>()
    for (const { role, placed, result } of outcomes) {
      if (result instanceof Missing) continue
      const { right, line } = placed
      origins.getOrInsert(this.share(result), { role, template: right.text, line })
    }
    return origins
  }

  /** Returns the same right for the same text, so that persons share its view. */
  private readonly share = (right: Right): Right => {
    const key = keyOf(right)
    const shared = this.shared.get(key)
    if (shared) return shared
    this.shared.set(key, right)
    return right
  }
}

/** Identifies a bound right: one by a date is another than one by `{today}`. */
function keyOf(right: Right): string {
  return `${right.text}\t${right.signedText === undefined ? '' : signedTextOf(right)}`
}

/**
 * Returns the entities that a person cannot read, not even in a view, only because the variables of her rights have no values.
 */
function unreadOf(outcomes: readonly Outcome[]): Entity[] {
  const reads = outcomes.filter(({ placed }) => placed.right.verb === 'read')
  const entityOf = ({ placed }: Outcome) => baseOf(placed.right.collection)
  const read = new Set(reads.filter(({ result }) => !(result instanceof Missing)).map(entityOf))
  return [...new Set(reads.map(entityOf))].filter((entity) => !read.has(entity))
}

/** Asks whether each list has a row, all at the same time. */
function answersOf({ questions }: Person, rows: RowQuestions): (boolean | Promise<boolean>)[] {
  return questions.map((question) => !(question instanceof Missing) && rows.some(question.entity, question.filters))
}

function reasonOfUnknown({ me }: RolesFile): string {
  return `no row of ${me?.entity.plural} is yours by the roles file, or several are`
}
