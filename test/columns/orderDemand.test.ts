import { describe, expect, test } from 'bun:test'
import { OrderDemand, orderFor } from '../../src/columns/orderDemand.ts'
import absence from '../../src/entities/absence.ts'
import { parseList } from '../../src/parse/list.ts'

const column = (name: string) => absence.properties.findIndex((property) => property.column === name)
const [ID, START, HOURS] = [column('id'), column('start'), column('period_hours')]
const list = (query: string) => parseList(absence, query)

describe('the property by which rows are loaded', () => {
  for (const [query, expected] of [
    ['', ID],
    ['Status=Approved', ID],
    ['sort=EmployeeId', column('employee_id')],
    ['sort=-Start', START],
    // Texts have no order until PostgreSQL is asked.
    ['sort=Employee', ID],
    ['Period.Hours=>=16&Start=>=2024-01-01T00:00:00Z&Start=<2024-03-01T00:00:00Z', START],
    ['Period.Hours=>=16&sort=-Start', HOURS],
    ['Period.Hours=>=16&Start=>=2024-01-01T00:00:00Z&sort=Start', START],
  ] as const)
    test(query || 'all rows', () => {
      expect(orderFor(absence, list(query))).toBe(expected)
    })
})

describe('another order is due', () => {
  const ROWS = 1_000_000
  const [range, byStart, hours] = ['Start=>=2024-01-01T00:00:00Z', 'sort=Start', 'Period.Hours=>=16'].map(list)
  const note = (demand: OrderDemand, query: ReturnType<typeof list> | undefined, total: number, times: number) => {
    let due: number | null = null
    for (let time = 0; time < times; time++) due ??= demand.note(query as never, total, ROWS)
    return due
  }

  test('after a thousand lists of few rows by a range, or of many rows in an order', () => {
    expect(note(new OrderDemand(absence, ID), range, 1_000, 999)).toBeNull()
    expect(note(new OrderDemand(absence, ID), range, 1_000, 1_000)).toBe(START)
    expect(note(new OrderDemand(absence, ID), byStart, ROWS, 1_000)).toBe(START)
  })

  test('not by lists that it would not serve better', () => {
    expect(note(new OrderDemand(absence, ID), range, ROWS, 5_000)).toBe(null)
    expect(note(new OrderDemand(absence, START), range, 1_000, 5_000)).toBeNull()
    expect(note(new OrderDemand(absence, START), list('Status=Approved'), 1_000, 5_000)).toBeNull()
    // The index of ids serves these.
    expect(note(new OrderDemand(absence, START), list(''), ROWS, 5_000)).toBeNull()
    expect(note(new OrderDemand(absence, START), list('sort=-Id'), ROWS, 5_000)).toBeNull()
  })

  test('where twice as many lists want it as want the one there is, so that two kinds do not take turns', () => {
    const demand = new OrderDemand(absence, START)
    note(demand, range, 1_000, 2_000)
    expect(note(demand, hours, 1_000, 4_000)).toBeNull()
    expect(note(demand, hours, 1_000, 1)).toBe(HOURS)
  })

  test('of a large table only', () => {
    const demand = new OrderDemand(absence, ID)
    for (let times = 0; times < 5_000; times++) expect(demand.note(range as never, 10, 99_999)).toBeNull()
  })
})
