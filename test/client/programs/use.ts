// A program that is compiled with the generated client in ./roster.ts, and never run: it has what must compile, and what must
// not. test/client/clientFile.test.ts compiles it.
import {
  type Absence,
  type AbsenceField,
  type AbsenceFilter,
  type AbsencePaths,
  type AbsenceSort,
  type AbsenceWrite,
  createRoster,
  type RosterChanged,
  RosterError,
  type RosterGroup,
  type RosterPage,
  type RosterRead,
} from './roster.ts'

const roster = createRoster({ url: 'http://127.0.0.1:3000', key: 'a key' })
const week = { '>=': '2026-03-02T00:00:00Z', '<': new Date('2026-03-09T00:00:00Z') }

export async function right(signal: AbortSignal | undefined, name: string | null): Promise<unknown[]> {
  const { rows, total, links } = await roster.absences.list({
    filter: { status: 'Approved', start: week, 'period.days': { '>': 0, '!=': [1, null] }, employeeId: null },
    sort: ['-start', 'period.days', 'id'],
    pageSize: 50,
    page: 2,
    signal,
  })
  const [first] = rows
  const count: number = total
  const status: string | null | undefined = first?.status
  const days: number | null | undefined = first?.period?.days
  if (links.next !== null) await roster.absences.follow(links.next, { signal })
  for await (const { id, company } of roster.employees.all({
    filter: { companyId: 5, lastName: name },
    sort: 'lastName',
  }))
    await roster.employees.update(id, { knownAs: company, started: new Date() }, { signal })
  const made = await roster.companies.create({ name: 'Blue Moon', enabled: true })
  const enabled: boolean = made.enabled
  const [moon] = await roster.companies.createMany([{ name: 'Half Moon' }, made], { dryRun: false, signal })
  const moonId: number | undefined = moon?.id
  const [matched] = await roster.companies.createOrUpdate([{ name: 'Half Moon' }, made], { match: 'name', signal })
  const result: 'created' | 'updated' | 'unchanged' | undefined = matched?.result
  // A row can be written back in the form in which it was read.
  await roster.companies.replace(made.id, made)
  if (first) await roster.absences.replace(first.id, { ...first, status: 'Declined', period: { days: 2.5 } })
  await roster.absences.update(1, { period: null })
  const version: string = roster.companies.versionOf(made)
  await roster.companies.update(made.id, { enabled: false }, { ifMatch: version, signal })
  const { count: changed, rows: changedRows } = await roster.absences.updateWhere(
    { status: 'Requested', 'employeeId.department': 'Sales' },
    { status: 'Approved', period: { days: 1 } },
    { may: { update: 'status' }, dryRun: false, signal },
  )
  const { count: gone, ids } = await roster.absences.deleteWhere({ id: { any: [1, 2] } }, { may: 'delete', ifMatch: [version] })
  const numbers: number[] = [changed, gone, ...ids, ...changedRows.map(({ id }) => id)]
  const nothing: undefined = (await roster.companies.delete(made.id)) as undefined
  const [own] = await roster.rights({ signal })
  const collection: 'Absences' | 'Companies' | 'Employees' | undefined = own?.collection
  await roster.companies.list({ filter: { enabled: true, name: { '!=': name } } })
  return [count, status, days, enabled, moonId, result, nothing, collection, numbers]
}

export async function whatMayBeWritten(signal: AbortSignal): Promise<unknown[]> {
  const mine = await roster.absences.list({ may: { update: 'status' }, filter: { status: 'Requested' }, signal })
  const both = await roster.absences.list({ may: { update: ['status', 'period', 'period.days', 'start'] }, fields: ['id'] })
  const found: unknown[] = [mine.total, both.rows[0]?.id]
  for await (const { id } of roster.absences.all({ may: 'update' })) found.push(id)
  for await (const { id } of roster.absences.stream({ may: 'delete' })) found.push(id)
  const { groups } = await roster.absences.summary({ may: { update: 'reason' }, groupBy: ['type'] })
  // @ts-expect-error: no write may set the id.
  await roster.absences.list({ may: { update: 'id' } })
  // @ts-expect-error: a copied name is read-only.
  await roster.absences.list({ may: { update: 'employee' } })
  // @ts-expect-error: a deletion has no properties.
  await roster.absences.list({ may: { delete: 'status' } })
  // @ts-expect-error: whether a row may be created does not depend on other rows.
  await roster.absences.list({ may: 'create' })
  // @ts-expect-error: the object has no such part.
  await roster.absences.summary({ may: { update: 'period.weeks' } })
  // @ts-expect-error: the request of one row has no option may.
  await roster.absences.get(1, { may: 'update' })
  return [...found, groups]
}

export async function summarized(): Promise<unknown[]> {
  const { groups, total } = await roster.absences.summary({
    filter: { status: 'Approved', start: week },
    groupBy: ['type', 'month(start)'],
    sum: ['period.days'],
    minimum: ['start'],
    sort: ['-sum(period.days)', 'type'],
    pageSize: 1_000,
  })
  const [first] = groups
  const exact:
    | {
        type: string | null
        start: string | null
        count: number
        sum: { period: { days: number | null } }
        minimum: { start: string | null }
      }
    | undefined = first
  const named: RosterGroup<Absence, 'type' | 'month(start)', 'period.days', never, 'start'> | undefined = first
  const { groups: all } = await roster.companies.summary()
  const count: number | undefined = all[0]?.count
  // @ts-expect-error: a text has no sum.
  await roster.absences.summary({ sum: ['type'] })
  // @ts-expect-error: a text has no months.
  await roster.absences.summary({ groupBy: ['month(type)'] })
  // @ts-expect-error: there is no such property.
  await roster.absences.summary({ groupBy: ['typ'] })
  const averages: RosterGroup<Absence, 'status', never, 'period.days'>[] = (
    await roster.absences.summary({ groupBy: ['status'], average: ['period.days'], sort: ['-count', 'status'] })
  ).groups
  await roster.absences.summary({ groupBy: ['month(start)'], sort: '-month(start)' })
  await roster.absences.summary({ groupBy: ['month(start)'], sort: 'start' })
  // @ts-expect-error: an object has no sum.
  await roster.absences.summary({ sum: ['period'] })
  // @ts-expect-error: a boolean has no minimum.
  await roster.companies.summary({ minimum: ['enabled'] })
  // @ts-expect-error: the groups are not grouped by status.
  await roster.absences.summary({ groupBy: ['type'], sort: 'status' })
  // @ts-expect-error: a misspelt property in sort
  await roster.absences.summary({ groupBy: ['type'], sort: '-typ' })
  // @ts-expect-error: this sum was not asked for.
  await roster.absences.summary({ groupBy: ['type'], sum: ['period.hours'], sort: '-sum(period.days)' })
  // @ts-expect-error: a summary has no option fields.
  await roster.absences.summary({ fields: ['type'] })
  // @ts-expect-error: the value of a group may be null.
  const type: string | undefined = first?.type
  // @ts-expect-error: the groups are not grouped by status.
  const status = first?.status
  // @ts-expect-error: the average was not asked for.
  return [exact, named, averages, total, count, type, status, first?.average]
}

export async function related(): Promise<unknown[]> {
  const filter: AbsenceFilter = {
    'employeeId.department': { any: ['Sales', null], '!=': 'Staff' },
    'employeeId.displayName': { begins: 'mü' },
    'employeeId.started': { '>=': new Date('2025-01-01T00:00:00Z') },
    'employeeId.companyId.name': 'Acme',
    'employeeId.companyId.enabled': { '!=': true },
    'employeeId.managerId': { under: 5, '!=': null },
    'employeeId.managerId.managerId': 7,
  }
  const { rows } = await roster.absences.list({
    fields: ['id', 'employeeId.department', 'period.days', 'employeeId.companyId.enabled'],
    filter,
    sort: '-start',
  })
  const exact: {
    id: number
    'employeeId.department': string | null
    period: { days: number | null } | null
    'employeeId.companyId.enabled': boolean | null
  }[] = rows
  const started: string | null = (await roster.employees.get(1, { fields: ['managerId.started'] }))['managerId.started']
  for await (const row of roster.employees.stream({ fields: ['companyId.id', 'managerId.managerId.id'] })) {
    const ids: (number | null)[] = [row['companyId.id'], row['managerId.managerId.id']]
    // @ts-expect-error: this property was not chosen.
    return [ids, row['managerId.id']]
  }
  const { rows: below } = await roster.employees.list({ filter: { managerId: { under: 5 }, 'companyId.enabled': null } })
  const { groups } = await roster.absences.summary({
    filter,
    groupBy: ['employeeId.department', 'month(start)', 'quarter(employeeId.started)'],
    sum: ['period.days'],
    minimum: ['employeeId.lastName', 'employeeId.companyId.name'],
    sort: ['-sum(period.days)', 'employeeId.department', '-quarter(employeeId.started)'],
  })
  const summed: {
    'employeeId.department': string | null
    start: string | null
    'employeeId.started': string | null
    count: number
    sum: { period: { days: number | null } }
    minimum: { 'employeeId.lastName': string | null; 'employeeId.companyId.name': string | null }
  }[] = groups
  const named: RosterGroup<Absence & AbsencePaths, 'employeeId.department', 'period.days'> | undefined = groups[0]
  return [exact, started, below, summed, named]
}

export async function namesakes(): Promise<unknown[]> {
  const { groups } = await roster.absences.summary({ groupBy: ['employee'], sort: ['employee', '-employeeId'] })
  const exact: { employee: string | null; employeeId: number | null; count: number }[] = groups
  const behind = await roster.absences.summary({ groupBy: ['employeeId.company'], sort: 'employeeId.companyId' })
  const company: { 'employeeId.company': string | null; 'employeeId.companyId': number | null } | undefined = behind.groups[0]
  const far = await roster.employees.summary({ groupBy: ['managerId.managerId.company'] })
  const id: number | null | undefined = far.groups[0]?.['managerId.managerId.companyId']
  const { groups: types } = await roster.absences.summary({ groupBy: ['type'] })
  // @ts-expect-error: type is not a copied name, so its groups have no id.
  return [exact, company, id, types[0]?.employeeId]
}

export async function chosen(signal: AbortSignal, fields: AbsenceField[]): Promise<unknown[]> {
  const { rows } = await roster.absences.list({ fields: ['id', 'period.days'], filter: { status: 'Approved' } })
  const exact: { id: number; period: { days: number | null } | null }[] = rows
  const one = await roster.absences.get(1, { fields: ['period', 'period.days', 'start'], signal })
  const whole: Pick<Absence, 'period' | 'start'> = one
  for await (const { name } of roster.companies.stream({ fields: ['name'], sort: '-name', signal }))
    if (name !== null) return [exact, whole, roster.absences.versionOf(one)]
  const all: RosterPage<Absence> = await roster.absences.list({ pageSize: 5 })
  const some = await roster.absences.list({ fields })
  const next = await roster.absences.follow<'id'>(all.links.next ?? '')
  const ids: RosterRead<Absence, AbsenceField, 'id'>[] = next.rows
  return [ids, some.rows]
}

export async function changed(): Promise<(string | null | undefined)[]> {
  const { next } = await roster.changes.list({ after: 'now', entity: ['Absences', 'Employees'], pageSize: 1 })
  for await (const { entity, id, action } of roster.changes.all({ after: next, entity: 'Absences', wait: 30 }))
    if (action !== 'delete' && entity === 'Absences') return [(await roster.absences.get(id)).status]
  const { changes } = await roster.changes.list({ after: next })
  const last: RosterChanged<'Absences' | 'Companies' | 'Employees'> | undefined = changes.at(-1)
  const past = await roster.absences.history(1, { after: last?.token ?? next })
  return past.changes.map(({ key }) => key)
}

export async function named(filter: AbsenceFilter, sort: AbsenceSort): Promise<AbsenceWrite[]> {
  const page: RosterPage<Absence> = await roster.absences.list({ filter, sort: [sort, '-period.hours'] })
  return page.rows
}

export function failed(error: unknown): string | null {
  return error instanceof RosterError ? `${error.status} ${error.code} ${error.details?.length}` : null
}

export function wrong(): void {
  // @ts-expect-error a misspelt filter
  roster.absences.list({ filter: { statuss: 'Approved' } })
  // @ts-expect-error a filter of another type
  roster.absences.list({ filter: { employeeId: '4' } })
  // @ts-expect-error an object cannot be filtered by its value
  roster.absences.list({ filter: { period: { days: 3 } } })
  // @ts-expect-error an operator that does not exist
  roster.absences.list({ filter: { status: { like: 'A%' } } })
  // @ts-expect-error an operator of a date that is misspelt
  roster.absences.list({ filter: { start: { '=>': '2026-01-01T00:00:00Z' } } })
  // @ts-expect-error null has no order
  roster.absences.list({ filter: { start: { '<': null } } })
  // @ts-expect-error a list of values is only allowed after !=, where it means "none of"
  roster.absences.list({ filter: { status: { '=': ['Approved', 'Declined'] } } })
  // @ts-expect-error a filter with undefined would be no filter
  roster.absences.list({ filter: { status: { '=': undefined } } })
  // @ts-expect-error a misspelt path
  roster.absences.list({ filter: { 'employeeId.departmant': 'Sales' } })
  // @ts-expect-error a misspelt reference
  roster.absences.list({ filter: { 'employee.department': 'Sales' } })
  // @ts-expect-error a path through three references
  roster.absences.list({ filter: { 'employeeId.managerId.companyId.name': 'Acme' } })
  // @ts-expect-error a path through a property that is not a reference
  roster.absences.list({ filter: { 'employeeId.department.name': 'Sales' } })
  // @ts-expect-error a value of another type
  roster.absences.list({ filter: { 'employeeId.companyId': 'Acme' } })
  // @ts-expect-error an operator that only texts have
  roster.absences.list({ filter: { 'employeeId.started': { begins: '2026' } } })
  // @ts-expect-error a company has no reference to another company
  roster.employees.list({ filter: { companyId: { under: 5 } } })
  // @ts-expect-error under needs the id of a row
  roster.employees.list({ filter: { managerId: { under: null } } })
  // @ts-expect-error a misspelt path through two references
  roster.absences.list({ fields: ['id', 'employeeId.companyId.nam'] })
  // @ts-expect-error rows cannot be sorted by properties of other rows
  roster.absences.list({ sort: 'employeeId.department' })
  // @ts-expect-error a misspelt path in groupBy
  roster.absences.summary({ groupBy: ['employeeId.departmant'] })
  // @ts-expect-error a text has no months
  roster.absences.summary({ groupBy: ['month(employeeId.department)'] })
  // @ts-expect-error ids have no sum
  roster.absences.summary({ sum: ['employeeId.companyId'] })
  // @ts-expect-error a property of another row cannot be written
  roster.absences.create({ 'employeeId.department': 'Sales' })
  // @ts-expect-error a misspelt field
  roster.absences.list({ fields: ['statuss'] })
  // @ts-expect-error a misspelt part
  roster.absences.get(1, { fields: ['period.day'] })
  // @ts-expect-error a misspelt field after a valid one
  roster.absences.stream({ fields: ['id', 'perod'] })
  // @ts-expect-error a stream has no pages
  roster.absences.stream({ pageSize: 5 })
  // @ts-expect-error a boolean has no order
  roster.companies.list({ filter: { enabled: { '<': true } } })
  // @ts-expect-error a boolean is never null
  roster.companies.list({ filter: { enabled: null } })
  // @ts-expect-error a misspelt sort
  roster.companies.list({ sort: '-nme' })
  // @ts-expect-error a list cannot be sorted by an object
  roster.absences.list({ sort: ['period'] })
  // @ts-expect-error the method all has no option page
  roster.companies.all({ page: 2 })
  // @ts-expect-error a copied name is read-only
  roster.absences.create({ employee: 'Ada Byron' })
  // @ts-expect-error a computed name is read-only
  roster.employees.update(1, { displayName: 'Ada Byron' })
  // @ts-expect-error the server makes ids
  roster.companies.create({ id: 7, name: 'Blue Moon' })
  // @ts-expect-error a misspelt part
  roster.absences.update(1, { period: { day: 2 } })
  // @ts-expect-error a value of another type
  roster.companies.create({ enabled: 'true' })
  // @ts-expect-error a boolean is never null
  roster.companies.create({ enabled: null })
  // @ts-expect-error a new row has no version yet
  roster.companies.create({}, { ifMatch: '"1kzp-4711"' })
  // @ts-expect-error with undefined, the write would be carried out without a check
  roster.companies.update(7, {}, { ifMatch: undefined })
  // @ts-expect-error an id is a number
  roster.companies.get('7')
  // @ts-expect-error an entity that does not exist
  roster.offices.list()
  // @ts-expect-error an entity that does not exist
  roster.changes.list({ entity: 'Absence' })
  // @ts-expect-error a key is needed
  createRoster({ url: 'http://127.0.0.1:3000' })
}

export async function wrongReads(): Promise<unknown[]> {
  const row = await roster.absences.get(1)
  // @ts-expect-error a text may be missing
  const status: string = row.status
  // @ts-expect-error an object may be missing
  const days = row.period.days
  // @ts-expect-error date-times are texts
  const start: Date = row.start
  // @ts-expect-error a property that does not exist
  const nothing = row.statuss
  const { rows } = await roster.absences.list({ fields: ['id', 'period.days'] })
  // @ts-expect-error a property that was not chosen
  const unread = rows[0]?.start
  // @ts-expect-error a part that was not chosen
  const hours = rows[0]?.period?.hours
  return [status, days, start, nothing, unread, hours]
}
