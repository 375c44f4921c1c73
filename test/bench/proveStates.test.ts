import { beforeEach, describe, expect, test } from 'bun:test'
import { Findings } from '../prove/lists/check.ts'
import type { Answer } from '../prove/lists/cluster.ts'
import { Judge } from '../prove/lists/states/judge.ts'
import { OrderedRows } from '../prove/lists/states/ordered.ts'
import { numberedPage, type Page, pageBeside } from '../prove/lists/states/pages.ts'
import { RowsModel } from '../prove/lists/states/rowsModel.ts'
import { Timeline } from '../prove/lists/states/timeline.ts'

const id = { name: 'Id', kind: 'integer' } as const
const name = { name: 'Name', kind: 'text' } as const
const enabled = { name: 'Enabled', kind: 'boolean' } as const

let model: RowsModel
let list: OrderedRows
let timeline: Timeline
let findings: Findings
let judge: Judge
beforeEach(() => {
  model = new RowsModel()
  for (let id = 1; id <= 12; id++) model.apply(model.put('Companies', id, { Name: `c${id % 3}`, Enabled: id <= 8 }))
  const filters = [{ field: enabled, operator: '=', operand: 'true' } as const]
  list = new OrderedRows({ collection: 'Companies', filters, sorts: [{ field: name, descending: true }] }, model)
  timeline = new Timeline(model, [list])
  findings = new Findings()
  judge = new Judge(timeline, findings, 'test')
})

/** Leads to the next state. */
function write(id: number, Name: string, Enabled: boolean) {
  timeline.send()
  timeline.settle(model.put('Companies', id, { Name, Enabled }))
  timeline.show()
}

const BASE = 'http://roster.test/Companies?PageSize=5'
const company = (id: number, text: string) => `{"id":${id},"name":"${text}","enabled":true}`
const body = (...rows: [number, string][]) => `[${rows.map(([id, text]) => company(id, text))}]`
const answer = (total: number, text: string, link: string): Answer => ({ status: 200, total, text, link })
const FIRST = `<${BASE}&page=2&cursor=x>; rel="next", <${BASE}&page=2>; rel="last"`
const LAST = `<${BASE}&page=1>; rel="first", <${BASE}&page=1&cursor=y>; rel="prev"`
const firstPage = body([8, 'c2'], [5, 'c2'], [2, 'c2'], [7, 'c1'], [4, 'c1'])
const faults = () => findings.differences.map((difference) => difference.slice(0, difference.indexOf(': {')))

describe('an answer under load', () => {
  let page: Page
  beforeEach(() => {
    page = numberedPage(list, 5, 1)
  })

  test('is good if it is that of a state that was allowed', () => {
    expect(judge.judge(page, answer(8, firstPage, FIRST), 0, 0)).not.toBe(null)
    write(2, 'c0', true)
    const moved = body([8, 'c2'], [5, 'c2'], [7, 'c1'], [4, 'c1'], [1, 'c1'])
    expect(judge.judge(page, answer(8, moved, FIRST), 1, 1)).not.toBe(null)
    expect(judge.judge(page, answer(8, firstPage, FIRST), 0, 1)).not.toBe(null)
    expect(faults()).toEqual([])
    expect(findings.counts.fresh).toBe(1)
  })

  test('of before a write that was answered is a difference', () => {
    write(2, 'c0', true)
    expect(judge.judge(page, answer(8, firstPage, FIRST), 1, 1)).toBe(null)
    expect(faults()).toEqual(['a page of before the last write'])
  })

  test('of several states is a difference, though each part is allowed', () => {
    write(2, 'c2', false)
    const left = body([8, 'c2'], [5, 'c2'], [7, 'c1'], [4, 'c1'], [1, 'c1'])
    judge.judge(page, answer(8, left, FIRST), 0, 1)
    judge.judge(page, answer(7, firstPage, FIRST), 0, 1)
    expect(faults()).toEqual(['a page of several moments', 'a page of several moments'])
  })

  test('is a difference if its total, its links or a value in a row is wrong', () => {
    judge.judge(page, answer(9, firstPage, FIRST), 0, 0)
    judge.judge(page, answer(8, firstPage, FIRST.replace('&page=2>', '&page=3>')), 0, 0)
    judge.judge(page, answer(8, firstPage.replace('c1', 'c0'), FIRST), 0, 0)
    expect(faults()).toEqual(['wrong: total', 'wrong: links', 'wrong: text'])
  })

  test('by cursor shows what is behind the row that had the link, wherever its page is now', () => {
    const first = answer(8, firstPage, FIRST)
    const next = pageBeside(first, judge.judge(page, first, 0, 0) ?? { state: 0, rows: [] }, page, 'next') as Page
    expect(next.path).toBe('/Companies?PageSize=5&page=2&cursor=x')
    write(2, 'c0', true)
    const behind = body([1, 'c1'], [6, 'c0'], [3, 'c0'], [2, 'c0'])
    const version = judge.judge(next, answer(8, behind, LAST), 1, 1)
    expect(version).not.toBe(null)
    judge.judge(next, answer(8, body([6, 'c0'], [3, 'c0'], [2, 'c0']), LAST), 1, 1)
    expect(faults()).toEqual(['wrong: text'])
  })

  test('by cursor of a list sorted by id leads behind the row, whatever is written to it', () => {
    const sorts = [{ field: id, descending: false } as const, { field: name, descending: true } as const]
    const byId = new OrderedRows({ ...list.selected, sorts }, model)
    timeline = new Timeline(model, [byId])
    judge = new Judge(timeline, findings, 'test')
    page = numberedPage(byId, 5, 1)
    const first = answer(8, body([1, 'c1'], [2, 'c2'], [3, 'c0'], [4, 'c1'], [5, 'c2']), FIRST)
    const next = pageBeside(first, judge.judge(page, first, 0, 0) ?? { state: 0, rows: [] }, page, 'next') as Page
    write(5, 'c1', true)
    expect(judge.judge(next, answer(8, body([6, 'c0'], [7, 'c1'], [8, 'c2']), LAST), 1, 1)).not.toBe(null)
    write(5, 'c9', true)
    expect(judge.judge(next, answer(8, body([6, 'c0'], [7, 'c1'], [8, 'c2']), LAST), 2, 2)).not.toBe(null)
    expect(faults()).toEqual([])
  })
})

test('a rename changes the rows that copy the name', () => {
  model.apply(model.put('Employees', 1, { KnownAs: 'a', CompanyId: 3 }))
  model.apply(model.put('Absences', 1, { EmployeeId: 1 }))
  model.apply(model.put('Companies', 3, { Name: 'new' }))
  model.apply(model.put('Employees', 1, { ...model.rows.Employees.get(1), LastName: 'b' }))
  expect(model.rows.Employees.get(1)).toMatchObject({ Company: 'new', DisplayName: 'a b' })
  expect(model.rows.Absences.get(1)).toMatchObject({ Employee: 'a b' })
  expect(model.isReferredTo('Employees', 1)).toBe(true)
  model.apply(model.put('Employees', 1, { ...model.rows.Employees.get(1), ManagerId: 1 }))
  model.apply(model.put('Employees', 1, { ...model.rows.Employees.get(1), KnownAs: 'c' }))
  expect(model.rows.Employees.get(1)).toMatchObject({ DisplayName: 'c b', Manager: 'c b' })
})
