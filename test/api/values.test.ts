import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createRow } from '../support/rows.ts'
import { errorOf, startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

const refused = (target: string) => ({ status: 400, code: 'InvalidValue', target })

describe('2 Period', () => {
  test.each([
    ['4', '4.00000000'],
    ['4.0', '4.00000000'],
    ['0', '0.00000000'],
    ['0.1', '0.10000000'],
    ['1e2', '100.00000000'],
    ['1.5E1', '15.00000000'],
    ['25e-1', '2.50000000'],
    ['1e-8', '0.00000001'],
    ['0.30000000', '0.30000000'],
    ['9999999999.99999999', '9999999999.99999999'],
    ['1234567890.12345678', '1234567890.12345678'],
    ['9007199254.74099301', '9007199254.74099301'],
  ])('D13: %s is printed as %s, on writing and on reading', async (written, printed) => {
    const { text, body } = await server.post('/Absences', `{"Period":{"Days":${written},"Hours":${written}}}`)
    const period = `"period":{"prefered":null,"days":${printed},"hours":${printed}}`
    expect(text).toContain(period)
    expect((await server.get(`/Absences/${body.id}`)).text).toContain(period)
    expect((await server.get(`/Absences?Id=${body.id}&Period.Days=${printed}`)).text).toContain(period)
  })

  test.each([
    '-1',
    '-0.00000001',
    '0.123456789',
    '1e-9',
    '10000000000',
    '1e10',
    '1e400',
    '9999999999.999999999',
    '"4"',
    '"1e2"',
    'true',
    '{}',
    '[1]',
  ])('D13: %s for days or hours is 400', async (written) => {
    for (const name of ['Days', 'Hours'])
      expect(errorOf(await server.post('/Absences', `{"Period":{"${name}":${written}}}`))).toEqual(refused(`Period.${name}`))
  })

  test.each(['"Hours"', '5', 'true', '[]'])('D13: a period must be an object: %s is 400', async (written) => {
    expect(errorOf(await server.post('/Absences', `{"Period":${written}}`))).toEqual(refused('Period'))
  })

  test('D14: a PATCH merges the period field by field', async () => {
    const { id } = await createRow(server, '/Absences', { Period: { Prefered: 'Hours', Days: 1, Hours: 8 } })
    const merged = await server.patch(`/Absences/${id}`, { Period: { Days: 2 } })
    expect(merged.body.period).toEqual({ prefered: 'Hours', days: 2, hours: 8 })
    const cleared = await server.patch(`/Absences/${id}`, { Period: { Prefered: null } })
    expect(cleared.body.period).toEqual({ prefered: null, days: 2, hours: 8 })
    const unchanged = await server.patch(`/Absences/${id}`, { Period: {} })
    expect(unchanged.body.period).toEqual({ prefered: null, days: 2, hours: 8 })
  })

  test('D14: a PATCH with "Period": null clears it', async () => {
    const { id } = await createRow(server, '/Absences', { Reason: 'r', Period: { Prefered: 'Hours', Days: 1 } })
    const { body } = await server.patch(`/Absences/${id}`, { Period: null })
    expect(body).toMatchObject({ reason: 'r', period: null })
  })

  test('D14: a period with no value in any field is printed as null', async () => {
    const { id } = await createRow(server, '/Absences', { Period: { Prefered: null, Days: null, Hours: null } })
    expect((await server.get(`/Absences/${id}`)).body.period).toBeNull()
    await server.patch(`/Absences/${id}`, { Period: { Days: 1 } })
    expect((await server.patch(`/Absences/${id}`, { Period: { Days: null } })).body.period).toBeNull()
  })

  test('D14: a PUT does not merge: parts of a period left out become null', async () => {
    const { id } = await createRow(server, '/Absences', { Period: { Prefered: 'Hours', Days: 1, Hours: 8 } })
    const { body } = await server.put(`/Absences/${id}`, { Period: { Days: 2 } })
    expect(body.period).toEqual({ prefered: null, days: 2, hours: null })
  })
})

describe('2 Date-times', () => {
  test.each([
    ['2023-07-03T09:00:00Z', '2023-07-03T09:00:00Z'],
    ['2023-07-03T09:00:00+02:00', '2023-07-03T07:00:00Z'],
    ['2023-12-31T23:30:00-05:30', '2024-01-01T05:00:00Z'],
    ['2023-07-03T09:00:00.999Z', '2023-07-03T09:00:00Z'],
    ['2023-07-03T09:00:59.999999999+00:00', '2023-07-03T09:00:59Z'],
    ['2023-07-03t09:00:00z', '2023-07-03T09:00:00Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z'],
    ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59Z'],
    ['1969-12-31T23:59:59.5Z', '1969-12-31T23:59:59Z'],
    ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00Z'],
  ])('D15: %s is printed as %s', async (written, printed) => {
    const { body } = await server.post('/Absences', { Start: written })
    expect(body?.start).toBe(printed)
    expect((await server.get(`/Absences/${body.id}`)).body.start).toBe(printed)
  })

  test.each([
    '2023-02-30T00:00:00Z',
    '2023-02-29T00:00:00Z',
    '2023-13-01T00:00:00Z',
    '2023-00-01T00:00:00Z',
    '2023-04-31T00:00:00Z',
    '2023-01-01T24:00:00Z',
    '2023-01-01T23:60:00Z',
    '2023-01-01T00:00:00+24:00',
    '2023-01-01T00:00:00',
    '2023-01-01T00:00Z',
    '2023-01-01',
    '2023-1-1T00:00:00Z',
    '10000-01-01T00:00:00Z',
    ' 2023-01-01T00:00:00Z',
    'now',
    'infinity',
    '',
  ])('D15: "%s" is 400', async (written) => {
    expect(errorOf(await server.post('/Absences', { Start: written }))).toEqual(refused('Start'))
  })

  test.each([[1_688_374_800], [true], [{}], [[]]])('D15: %p is no date-time: 400', async (End) => {
    expect(errorOf(await server.post('/Absences', { End }))).toEqual(refused('End'))
  })

  test.each(['Started', 'ContinuousStart', 'ContractEnd', 'EmploymentEnd'])('D15: so it is with %s', async (name) => {
    const key = name.charAt(0).toLowerCase() + name.slice(1)
    const row = await createRow(server, '/Employees', { [name]: '2023-07-03T09:00:00.5+02:00' })
    expect(row[key]).toBe('2023-07-03T07:00:00Z')
    expect(errorOf(await server.post('/Employees', { [name]: '2023-02-30T00:00:00Z' }))).toEqual(refused(name))
  })

  test('D15: filters take the same date-times', async () => {
    const { id } = await createRow(server, '/Absences', { Start: '2033-07-03T09:00:00Z' })
    for (const text of ['2033-07-03T09:00:00.7Z', '2033-07-03T11:00:00%2B02:00', '2033-07-03t09:00:00z'])
      expect((await server.get(`/Absences?Start=${text}`)).body).toMatchObject([{ id }])
  })

  test('D13: an end before the start is 400 on End', async () => {
    const [early, late] = ['2023-07-03T09:00:00Z', '2023-07-03T09:00:01Z']
    expect(errorOf(await server.post('/Absences', { Start: late, End: early }))).toEqual(refused('End'))
    const { id } = await createRow(server, '/Absences', { Start: early, End: late })
    expect(errorOf(await server.put(`/Absences/${id}`, { Start: late, End: early }))).toEqual(refused('End'))
  })

  test('D13: a PATCH of one of them is held against the other as stored', async () => {
    const stored = { Start: '2023-07-03T09:00:00Z', End: '2023-07-04T09:00:00Z' }
    const { id } = await createRow(server, '/Absences', stored)
    const path = `/Absences/${id}`
    expect(errorOf(await server.patch(path, { End: '2023-07-02T09:00:00Z' }))).toEqual(refused('End'))
    expect(errorOf(await server.patch(path, { Start: '2023-07-05T09:00:00Z' }))).toEqual(refused('End'))
    expect((await server.get(path)).body).toMatchObject({ start: stored.Start, end: stored.End })
  })

  test('D13: an end at the start, or without one, is fine', async () => {
    const at = '2023-07-03T09:00:00Z'
    expect(await createRow(server, '/Absences', { Start: at, End: at })).toMatchObject({ start: at, end: at })
    expect(await createRow(server, '/Absences', { End: at })).toMatchObject({ start: null, end: at })
  })

  test('D13: offsets count when end and start are compared', async () => {
    const answer = await server.post('/Absences', { Start: '2023-07-03T09:00:00-02:00', End: '2023-07-03T10:00:00Z' })
    expect(errorOf(answer)).toEqual(refused('End'))
  })
})
