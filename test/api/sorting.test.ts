import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createRows, listed } from '../support/rows.ts'
import { errorOf, startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer()
  await createRows(server, '/Companies', [
    { Name: 'Zoe' },
    { Name: 'adam', Enabled: true },
    { Name: 'Émile' },
    { Name: 'Eve', Enabled: true },
    { Enabled: true },
    { Name: 'emma' },
    { Name: 'adam' },
    { Name: 'Östen' },
    { Name: '' },
  ])
  await createRows(server, '/Absences', [
    { Reason: 'a', Start: '2023-03-01T00:00:00Z', Period: { Days: 10 } },
    { Reason: 'b', Start: '2023-01-01T00:00:00Z', Period: { Days: 2 } },
    { Reason: 'c' },
    { Reason: 'd', Start: '2023-02-01T00:00:00Z', Period: { Days: 9.5, Hours: 1 } },
  ])
})
afterAll(() => server.stop())

const ASCENDING = ['', 'adam', 'adam', 'Émile', 'emma', 'Eve', 'Östen', 'Zoe', null]

const companies = (query: string, key?: string) => listed(server, `/Companies?${query}`, key)
const absences = (query: string) => listed(server, `/Absences?${query}`, 'reason')
const refusal = async (query: string, path = '/Companies') => errorOf(await server.get(`${path}?${query}`))

describe('4.2 Sorting', () => {
  test('rule 1: text, numbers, booleans and date-times can be sorted by', async () => {
    expect(await companies('sort=%2BName')).toEqual(ASCENDING)
    expect(await absences('sort=%2BPeriod.Days')).toEqual(['b', 'd', 'a', 'c'])
    expect(await absences('sort=%2BStart')).toEqual(['b', 'd', 'a', 'c'])
    expect(await companies('sort=%2BEnabled', 'enabled')).toEqual([...Array(6).fill(false), ...Array(3).fill(true)])
  })

  test('rule 1, D27: an object cannot be sorted by', async () => {
    for (const query of ['sort=Period', 'sort=-Period', 'sort=Id,%2Bperiod'])
      expect(await refusal(query, '/Absences')).toMatchObject({ status: 400, code: 'InvalidSort' })
  })

  test('rule 2: + is ascending, - descending', async () => {
    const ids: number[] = await companies('', 'id')
    expect(await companies('sort=%2BId', 'id')).toEqual(ids)
    expect(await companies('sort=-Id', 'id')).toEqual(ids.toReversed())
  })

  test('rule 3: definitions apply in the order written: enabled first, then by name', async () => {
    expect(await companies('sort=-Enabled,%2BName')).toEqual(['adam', 'Eve', null, '', 'adam', 'Émile', 'emma', 'Östen', 'Zoe'])
    expect(await companies('sort=%2BName,-Enabled', 'enabled')).toEqual([
      false,
      true,
      false,
      false,
      false,
      true,
      false,
      false,
      true,
    ])
  })

  test('rule 4: of a property that appears more than once the first reference counts', async () => {
    expect(await companies('sort=-Name,%2BName')).toEqual(await companies('sort=-Name'))
    expect(await companies('sort=%2BEnabled,-Name,-Enabled,%2BNAME')).toEqual(await companies('sort=%2BEnabled,-Name'))
  })

  test('rule 4: any number of definitions may be chained', async () => {
    const many = Array(170).fill('-Enabled,%2BName').join(',')
    expect(await companies(`sort=${many}`)).toEqual(await companies('sort=-Enabled,%2BName'))
    const all = 'Status,-EmployeeId,Employee,-Type,Start,-End,Period.Prefered,-Period.Days,Period.Hours,Id'
    expect(await absences(`sort=${all},-Reason`)).toEqual(['b', 'd', 'a', 'c'])
  })

  test.each(['%2BName', '+Name', '%20Name', 'Name'])('rule 5, D4, D27: sort=%s is ascending', async (definition) => {
    expect(await companies(`sort=${definition}`)).toEqual(ASCENDING)
  })

  test('D4: the three spellings of + may be mixed', async () => {
    expect(await companies('sort=+Enabled,%2BName,%20Id')).toEqual(await companies('sort=Enabled,Name,Id'))
  })

  test('D26: accents and case order as people order names, < and > alike', async () => {
    expect(await companies('Name=!=&sort=Name')).toEqual(ASCENDING.slice(1, -1))
    expect(await companies('Name=>emma&sort=Name')).toEqual(['Eve', 'Östen', 'Zoe'])
    expect(await companies('Name=<=Eve&Name=!=&sort=Name')).toEqual(['adam', 'adam', 'Émile', 'emma', 'Eve'])
  })

  test('D26: ties are broken by id in the direction of the last definition that counts', async () => {
    const ids: number[] = await companies('Enabled=false', 'id')
    expect(ids).toEqual(ids.toSorted((a, b) => a - b))
    const tied = (sort: string) => companies(`sort=${sort}&Enabled=false`, 'id')
    for (const sort of ['%2BEnabled', '%2BEnabled,-Enabled', '-Enabled,Id']) expect([sort, await tied(sort)]).toEqual([sort, ids])
    for (const sort of ['-Enabled', '-Enabled,%2BEnabled', 'Enabled,-Id'])
      expect([sort, await tied(sort)]).toEqual([sort, ids.toReversed()])
  })

  test('D26: one direction of a sort is the other, read from its end', async () => {
    for (const property of ['Name', 'Enabled', 'Id']) {
      const ascending: number[] = await companies(`sort=${property}`, 'id')
      expect(await companies(`sort=-${property}`, 'id')).toEqual(ascending.toReversed())
    }
  })

  test('D26: no value is after all values ascending, before them descending', async () => {
    expect((await companies('sort=Name')).at(-1)).toBeNull()
    expect((await companies('sort=-Name'))[0]).toBeNull()
    expect(await absences('sort=-Start')).toEqual(['c', 'a', 'd', 'b'])
    expect(await absences('sort=-Period.Days')).toEqual(['c', 'a', 'd', 'b'])
  })

  test('D26: the order is the same over several pages', async () => {
    for (const sort of ['Name', '-Name', '-Enabled', 'Enabled,-Name']) {
      const whole = await companies(`sort=${sort}`, 'id')
      const first = await companies(`sort=${sort}&PageSize=5`, 'id')
      const second = await companies(`sort=${sort}&PageSize=5&page=2`, 'id')
      expect([...first, ...second]).toEqual(whole)
    }
  })

  test('D27: parts of an object sort by a dot', async () => {
    expect(await absences('sort=-Period.Hours,-Period.Days')).toEqual(['c', 'a', 'b', 'd'])
  })

  test('D27: an unknown property is 400 InvalidSort, with the nearest known name in the message', async () => {
    const answer = await server.get('/Companies?sort=-Nmae')
    expect(errorOf(answer)).toMatchObject({ status: 400, code: 'InvalidSort' })
    expect(answer.body.Error.Message).toContain('Did you mean Name?')
  })

  test.each(['Start', 'Name,', ',Name', 'Name,,Id', '-', '%2B', '--Name', 'Name;Id', 'Name desc', 'name_key'])(
    'D27: sort=%s is 400 InvalidSort',
    async (sort) => {
      expect(await refusal(`sort=${sort}`)).toMatchObject({ status: 400, code: 'InvalidSort' })
    },
  )

  test('D27: an empty sort is as if it were absent, and the order then is id ascending', async () => {
    const ids: number[] = await companies('', 'id')
    expect(ids).toEqual(ids.toSorted((a, b) => a - b))
    expect(await companies('sort=', 'id')).toEqual(ids)
    expect(await companies('sort', 'id')).toEqual(ids)
    expect(await companies('sort=&sort=-Id', 'id')).toEqual(ids.toReversed())
  })

  test('D27: sort given twice is concatenated', async () => {
    expect(await companies('sort=-Enabled&sort=%2BName')).toEqual(await companies('sort=-Enabled,%2BName'))
    expect(await companies('sort=-Name&sort=%2BName')).toEqual(await companies('sort=-Name'))
  })
})
