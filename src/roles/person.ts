// A person at the time of a request: the values of all variables, and the questions that the conditions of roles ask about lists.
import type { Right } from '../model/access.ts'
import type { Entity, Property } from '../model/entity.ts'
import type { Filter } from '../model/query.ts'
import type { Row } from '../model/sql.ts'
import type { Claims } from '../model/token.ts'
import { isOpen, type Variable } from '../rights/openFilter.ts'
import { type Bindings, bindFilters, hasValue, Missing } from './binding.ts'
import { bindRight } from './bindRight.ts'
import type { ListCondition, RightInFile, Role, RolesFile, RowList } from './file.ts'
import type { PersonRights } from './personRights.ts'
import type { RequestTime } from './requestTime.ts'

/** Returns the variables of the line `me`, and of all conditions and rights of roles. */
export function variablesOf({ me, roles }: RolesFile): Variable[] {
  const conditions = roles.flatMap(({ when }) => when ?? [])
  const rights = roles.flatMap(({ rights }) => rights.map(({ right }) => right))
  const filters = [
    ...(me?.filters ?? []),
    ...conditions.flatMap((one) => (one.kind === 'list' ? one.list.filters : [])),
    ...rights.flatMap(({ filters, becomes }) => [...filters, ...(becomes ?? [])]),
  ]
  return [
    ...filters.filter(isOpen).map(({ variable }) => variable),
    ...conditions.flatMap((one) => (one.kind === 'has' ? [one.variable] : [])),
  ]
}

/** Facts about a person on which the rights of a roles file depend. */
export class Needs {
  /** Indexes of those columns of the person's own row that variables name. */
  readonly columns: readonly number[]
  /** Lists that the conditions of roles name, each list once. */
  readonly lists: readonly RowList[]
  readonly usesTime: boolean
  private readonly columnOf: ReadonlyMap<Property, number>

  constructor(file: RolesFile) {
    const { me, roles } = file
    const lists = roles.flatMap(({ when }) => (when?.kind === 'list' ? [when.list] : []))
    this.lists = [...new Map(lists.map((list) => [list.text, list])).values()]
    const variables = variablesOf(file)
    this.usesTime = variables.some(({ kind }) => kind === 'today' || kind === 'now')
    const own = variables.flatMap((variable) => (variable.kind === 'own' ? [variable.property] : []))
    const columns = me?.entity.properties ?? []
    this.columnOf = new Map(own.map((property) => [property, columns.indexOf(property)]))
    this.columns = [...new Set(this.columnOf.values())]
  }

  cellOf(row: Row | null, property: Property): string | null {
    return row?.[this.columnOf.get(property) ?? -1] ?? null
  }

  listOf({ list }: ListCondition): number {
    return this.lists.findIndex(({ text }) => text === list.text)
  }
}

/** Question whether a list has a row. */
export interface ListQuestion {
  readonly entity: Entity
  readonly filters: readonly Filter[]
}

/** A right that a role gives to a person, or the reason why the right does not exist for her. */
export interface Outcome {
  /** Name of the role. */
  readonly role: string
  readonly source: RightInFile
  readonly result: Right | Missing
}

export class Person implements Bindings {
  /** Questions about the lists of `Needs.lists`, in the same order. */
  readonly questions: readonly (ListQuestion | Missing)[]
  /** Rights of the person by the answers to the questions. The engine keeps the rights themselves, as long as it has room. */
  readonly granted = new Map<string, WeakRef<PersonRights>>()

  constructor(
    private readonly needs: Needs,
    readonly claims: Claims,
    readonly isEmailVerified: boolean,
    private readonly row: Row | null,
    readonly time: RequestTime,
  ) {
    this.questions = needs.lists.map(({ entity, filters }) => {
      const bound = bindFilters(filters, this)
      return bound instanceof Missing ? bound : { entity, filters: bound }
    })
  }

  ownCell(property: Property): string | null {
    return this.needs.cellOf(this.row, property)
  }

  /** Returns whether a row has the same values as the person's row in all columns that variables name. */
  isOf(row: Row | null): boolean {
    return this.needs.columns.every((column) => this.row?.[column] === row?.[column])
  }

  /** Returns true if the role applies, else the reason why not. `answers`: whether each list of `questions` has a row. */
  applies({ when }: Role, answers: readonly boolean[]): true | Missing {
    if (when === null) return true
    if (when.kind === 'has') return hasValue(when.variable, when.value, this)
    const index = this.needs.listOf(when)
    const question = this.questions[index] as ListQuestion | Missing
    if (question instanceof Missing) return question
    return answers[index] ? true : new Missing(`no row is in ${when.list.text}`)
  }

  outcomes({ name, rights }: Role): Outcome[] {
    return rights.map((source) => ({ role: name, source, result: bindRight(source.right, this) }))
  }
}
