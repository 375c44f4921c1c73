import { beforeAll, describe, expect, test } from 'bun:test'
import { outcomeOf } from '../support/cases.ts'
import { createRows, listed } from '../support/rows.ts'
import { useServer } from '../support/start.ts'
import { titleOf } from '../support/titles.ts'

// test/properties/lists.test.ts compares random sorts of each property, on every page, with a model.

const server = useServer()
beforeAll(async () => {
  const names = ['Zoe', 'adam', 'Émile', 'Eve', null, 'emma', 'adam', 'Östen', '']
  await createRows(
    server,
    '/Companies',
    names.map((Name, index) => ({ Name, Enabled: [1, 3, 4].includes(index) })),
  )
  await createRows(server, '/Absences', [
    { Reason: 'a', Start: '2023-03-01T00:00:00Z', Period: { Days: 10 } },
    { Reason: 'b', Start: '2023-01-01T00:00:00Z', Period: { Days: 2 } },
    { Reason: 'c' },
    { Reason: 'd', Start: '2023-02-01T00:00:00Z', Period: { Days: 9.5, Hours: 1 } },
  ])
})

const ASCENDING = ['', 'adam', 'adam', 'Émile', 'emma', 'Eve', 'Östen', 'Zoe', null]
const ENABLED_FIRST = ['adam', 'Eve', null, '', 'adam', 'Émile', 'emma', 'Östen', 'Zoe']
const ALL = 'Status,-EmployeeId,Employee,-Type,Start,-End,Period.Prefered,-Period.Days,Period.Hours,Id'

const companies = (query: string, key?: string) => listed(server, `/Companies?${query}`, key)

describe('4.2 Sorting', () => {
  const sorted: [rule: string, query: string, names: (string | null)[]][] = [
    ['rule 1: by text', 'sort=%2BName', ASCENDING],
    ['rule 3: definitions apply in the order written', 'sort=-Enabled,%2BName', ENABLED_FIRST],
    ['rule 4, and 8, rule 3: any number of definitions', `sort=${Array(170).fill('-Enabled,%2BName').join(',')}`, ENABLED_FIRST],
    ['rule 5, D4, D27', 'sort=+Name', ASCENDING],
    ['rule 5, D4, D27', 'sort=%20Name', ASCENDING],
    ['rule 5, D4, D27', 'sort=Name', ASCENDING],
    ['D26: < and > order as sorts do', 'Name=>emma&sort=Name', ['Eve', 'Östen', 'Zoe']],
    ['D26', 'Name=<=Eve&Name=!=&sort=Name', ['adam', 'adam', 'Émile', 'emma', 'Eve']],
    ['D27: sort given twice is concatenated', 'sort=-Enabled&sort=%2BName', ENABLED_FIRST],
  ]
  const named = sorted.map(([rule, query, names]) => [rule, titleOf(query), query, names] as const)
  test.each(named)('%s: the companies of the list with %s are in the right order', async (_, __, query, names) =>
    expect(await companies(query)).toEqual(names),
  )

  const id = [1, 2, 3, 4, 5, 6, 7, 8, 9]
  const disabled = [1, 3, 6, 7, 8, 9]
  test.each([
    ['rule 1: by booleans', 'sort=%2BEnabled', [...disabled, 2, 4, 5]],
    ['rule 2: + is ascending', 'sort=%2BId', id],
    ['rule 2: - is descending', 'sort=-Id', id.toReversed()],
    ['rule 3', 'sort=%2BName,-Enabled', [9, 2, 7, 3, 6, 4, 8, 1, 5]],
    ['D26: ties are broken in the direction of the last that counts', 'sort=Enabled,-Enabled&Enabled=false', disabled],
    ['D26', 'sort=-Enabled,Id&Enabled=false', disabled],
    ['D26', 'sort=-Enabled,%2BEnabled&Enabled=false', disabled.toReversed()],
    ['D26', 'sort=Enabled,-Id&Enabled=false', disabled.toReversed()],
    ['D27: an empty sort is as if it were absent: id ascending', '', id],
    ['D27', 'sort=', id],
    ['D27', 'sort', id],
    ['D27', 'sort=&sort=-Id', id.toReversed()],
  ])('%s: the list with %s has the ids %j', async (_, query, ids) => expect(await companies(query, 'id')).toEqual(ids))

  test.each([
    ['rule 1: by numbers', '%2BPeriod.Days', ['b', 'd', 'a', 'c']],
    ['rule 1: by date-times', '%2BStart', ['b', 'd', 'a', 'c']],
    ['rule 4: any number of properties', `${ALL},-Reason`, ['b', 'd', 'a', 'c']],
    ['D26: in descending order, rows without a value come first', '-Start', ['c', 'a', 'd', 'b']],
    ['D26', '-Period.Days', ['c', 'a', 'd', 'b']],
    ['D27: parts of an object sort by a dot', '-Period.Hours,-Period.Days', ['c', 'a', 'b', 'd']],
  ])('%s: sort=%s gives the absences %j', async (_, sort, reasons) =>
    expect(await listed(server, `/Absences?sort=${sort}`, 'reason')).toEqual(reasons),
  )

  test.each([
    ['rule 4: if a property is named twice, the first direction counts', 'sort=-Name,%2BName', 'sort=-Name'],
    ['rule 4', 'sort=%2BEnabled,-Name,-Enabled,%2BNAME', 'sort=%2BEnabled,-Name'],
    ['D4: the three spellings of + may be mixed', 'sort=+Enabled,%2BName,%20Id', 'sort=Enabled,Name,Id'],
    ['D27', 'sort=-Name&sort=%2BName', 'sort=-Name'],
  ])('%s: the list with %s equals the list with %s', async (_, one, other) =>
    expect(await companies(one, 'id')).toEqual(await companies(other, 'id')),
  )

  test.each([
    ...['Start', 'Name,', ',Name', 'Name,,Id', '-', '%2B', '--Name', 'Name;Id', 'Name desc', 'name_key'],
    ...['-Nmae', 'Period', '-Period', 'Id,%2Bperiod'],
  ])('rule 1, D27: sort=%s is 400 InvalidSort', async (sort) => {
    const plural = /period/i.test(sort) ? 'Absences' : 'Companies'
    const answer = await server.get(`/${plural}?sort=${sort}`)
    expect(outcomeOf(answer)).toBe('400 InvalidSort sort')
    if (sort === '-Nmae') expect(answer.body.Error.Message).toContain('Did you mean Name?')
  })
})
