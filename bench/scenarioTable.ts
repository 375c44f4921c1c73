import type { Rows } from './data/table.ts'
import { NEW_DAYS, newConditions, newLists, pagesOfNewList } from './neverAsked.ts'
import type { Operation } from './operation.ts'
import type { Entry } from './scenario.ts'
import { create, createEmployee, patch, patchAbsence, rename } from './writes.ts'

const PAGE_SIZE = 20
/** 62 of 100 are, give or take chance: so far there are pages of them. */
const APPROVED = 0.6
const WRITES_PER_SECOND = 100
const LIVE_LISTS = 1_000

const get = (path: string, more: Partial<Operation> = {}): Operation => ({ method: 'GET', path, status: 200, ...more })
const absences = (query: string) => () => [get(`/Absences?${query}`)]
const pageOf = (page: number) => ({ absencesMin: page * PAGE_SIZE })
const pagesOf = (count: number) => Math.ceil(count / PAGE_SIZE)
const randomPage = (query: string, count: number) => absences(`${query}&page={1..${pagesOf(count)}}`)()

const absencesChange = (rows: Rows) => ({ operations: patchAbsence(rows), rate: WRITES_PER_SECOND })

/** Every third day from 2017 on: quick to count, and about a fifth of all changes is to one of them. */
const listsOfDays = Array.from({ length: LIVE_LISTS }, (_, index) => {
  const day = (after: number) => new Date(Date.UTC(2017, 0, 1 + 3 * index + after)).toISOString().slice(0, 10)
  return `/Absences?Status=Approved&Start=%3E%3D${day(0)}T00:00:00Z&Start=%3C${day(1)}T00:00:00Z&sort=-Start`
})

/** A scenario is one entry. Every random value stands in the path or is a whole value of the body: see `load/draws.mjs`. */
export const table: readonly Entry[] = [
  {
    name: 'one-by-id',
    title: 'one absence by a random id',
    operations: (rows) => [get(`/Absences/{1..${rows.absences}}`)],
  },
  {
    name: 'first-page',
    title: 'first page of all absences',
    hasUncounted: true,
    operations: () => [get('/Absences')],
  },
  {
    name: 'filter-sort',
    title: 'absences of one status, the latest first',
    hasUncounted: true,
    operations: absences('Status=Approved&sort=-Start'),
  },
  {
    name: 'new-lists',
    title: `never asked before: absences of one status that begin within ${NEW_DAYS} days, the latest first`,
    isNew: true,
    hasUncounted: true,
    operations: absences(newLists),
  },
  {
    name: 'new-lists-random-pages',
    title: `never asked before: a random page, by its number, of absences of one status that begin within ${NEW_DAYS} days, the latest first`,
    isNew: true,
    operations: (rows) => absences(`${newLists}&page={1..${pagesOfNewList(rows, PAGE_SIZE)}}`)(),
  },
  {
    name: 'new-conditions',
    title: `never asked before: absences of 16 hours or more, no holidays, that begin within ${NEW_DAYS} days, sorted by start`,
    isNew: true,
    operations: absences(newConditions),
  },
  {
    name: 'new-lists-under-writes',
    title: `never asked before: absences of one status that begin within ${NEW_DAYS} days, the latest first, while the status of 100 absences is changed a second`,
    isNew: true,
    operations: absences(newLists),
    background: absencesChange,
  },
  {
    name: 'new-conditions-under-writes',
    title: `never asked before: absences of 16 hours or more, no holidays, that begin within ${NEW_DAYS} days, sorted by start, while the status of 100 absences is changed a second`,
    isNew: true,
    isDetail: true,
    operations: absences(newConditions),
    background: absencesChange,
  },
  {
    name: 'different-lists',
    title: 'absences of one status from a random id on, the latest first: hardly a request is like another',
    hasUncounted: true,
    isCold: true,
    operations: (rows) => absences(`Status=Approved&Id=%3E{1..${Math.ceil(rows.absences / 10)}}&sort=-Start`)(),
  },
  {
    name: 'random-pages',
    title: 'a random page, by its number, of absences of one status, the latest first',
    isCold: true,
    operations: (rows) => randomPage('Status=Approved&sort=-Start', APPROVED * rows.absences),
  },
  {
    name: 'random-pages-all',
    title: 'a random page, by its number, of all absences, sorted by start',
    isDetail: true,
    isCold: true,
    operations: (rows) => randomPage('sort=Start', rows.absences),
  },
  {
    name: 'range-sort',
    title: 'absences of one year, the latest first, 50 rows',
    isDetail: true,
    hasUncounted: true,
    operations: absences('Start=%3E%3D2023-01-01T00:00:00Z&Start=%3C2024-01-01T00:00:00Z&sort=-Start&PageSize=50'),
  },
  {
    name: 'range-sort-week',
    title: 'absences of one week, the latest first, 50 rows',
    hasUncounted: true,
    isDetail: true,
    operations: absences('Start=%3E%3D2023-06-05T00:00:00Z&Start=%3C2023-06-12T00:00:00Z&sort=-Start&PageSize=50'),
  },
  {
    name: 'employee-absences',
    title: 'absences of a random employee',
    operations: (rows) => [get(`/Absences?EmployeeId={1..${rows.employees}}`)],
  },
  { name: 'page-2000', title: 'page 2,000 by number', ...pageOf(2_000), operations: absences('page=2000') },
  { name: 'page-20000', title: 'page 20,000 by number', ...pageOf(20_000), operations: absences('page=20000') },
  {
    name: 'page-2000-sorted',
    title: 'page 2,000 by number, sorted by start',
    ...pageOf(2_000),
    operations: absences('sort=Start&page=2000'),
  },
  {
    name: 'page-20000-sorted',
    title: 'page 20,000 by number, sorted by start',
    ...pageOf(20_000),
    operations: absences('sort=Start&page=20000'),
  },
  {
    name: 'page-20000-cursor',
    title: 'the page behind page 20,000 by its cursor, sorted by start',
    ...pageOf(20_001),
    isOurs: true,
    operations: () => [get('/Absences?sort=Start&page=20000', { link: 'next' })],
  },
  {
    name: 'last-page',
    title: 'last page by number, sorted by start',
    operations: (rows) => [get(`/Absences?sort=Start&page=${pagesOf(rows.absences)}`)],
  },
  { name: 'create', title: 'create a company', operations: () => [create()] },
  {
    name: 'create-employee',
    title: 'create an employee of a random company',
    operations: (rows) => [createEmployee(rows)],
  },
  { name: 'patch', title: 'change a random company', operations: (rows) => patch(rows) },
  { name: 'rename', title: 'change the name of a random company with two employees', operations: rename },
  {
    name: 'patch-absence',
    title: 'change the status of a random absence',
    isDetail: true,
    operations: patchAbsence,
  },
  {
    name: 'patch-absence-cached',
    title: 'change the status of a random absence while the server has 1,000 lists in memory',
    isOurs: true,
    prepare: listsOfDays,
    operations: patchAbsence,
  },
  {
    name: 'crud-mix',
    title: 'companies: 75 % get, 15 % change, 5 % list, 5 % create',
    operations: (rows) => [
      get(`/Companies/{1..${rows.companies}}`, { weight: 75 }),
      ...patch(rows, 15),
      get('/Companies?sort=Name', { weight: 5 }),
      create(5),
    ],
  },
  {
    name: 'lists-under-writes',
    title: 'absences of one status, the latest first, while the status of 100 absences is changed a second',
    hasUncounted: true,
    operations: absences('Status=Approved&sort=-Start'),
    background: absencesChange,
  },
  {
    name: 'deep-pages-under-writes',
    title: 'page 20,000 by number, sorted by start, while the status of 100 absences is changed a second',
    ...pageOf(20_000),
    operations: absences('sort=Start&page=20000'),
    background: absencesChange,
  },
  {
    name: 'unauthorized',
    title: 'refused for want of a key (401)',
    key: 'none',
    operations: (rows) => [get(`/Absences/{1..${rows.absences}}`, { status: 401 })],
  },
  {
    name: 'refused',
    title: 'refused by the limit of the key (429)',
    key: 'exhausted',
    operations: (rows) => [get(`/Absences/{1..${rows.absences}}`, { status: 429 })],
  },
]
