import { describe, expect, test } from 'bun:test'
import { expectAll } from '../support/cases.ts'
import { createRow } from '../support/rows.ts'
import { useServer } from '../support/start.ts'

const server = useServer()

describe('2 Period', () => {
  test.each([
    ['4', '4.00000000'],
    ['1.5E1', '15.00000000'],
    ['1e-8', '0.00000001'],
    ['9999999999.99999999', '9999999999.99999999'],
    ['9007199254.74099301', '9007199254.74099301'],
  ])('D13: %s is printed as %s, on writing and on reading', async (written, printed) => {
    const { text, body } = await server.post('/Absences', `{"Period":{"Days":${written},"Hours":${written}}}`)
    const period = `"period":{"prefered":null,"days":${printed},"hours":${printed}}`
    expect(text).toContain(period)
    expect((await server.get(`/Absences/${body.id}`)).text).toContain(period)
    expect((await server.get(`/Absences?Id=${body.id}&Period.Days=${printed}`)).text).toContain(period)
  })

  test('a NaN that another program has stored is null, so that the response is JSON', async () => {
    const { body } = await server.post('/Absences', { Period: { Hours: 1 } })
    await server.sql`update absence set period_days = 'NaN' where id = ${body.id}`
    const expected = { prefered: null, days: null, hours: 1 }
    expect((await server.get(`/Absences/${body.id}`)).body.period).toEqual(expected)
    expect((await server.get(`/Absences?Id=${body.id}`)).body[0].period).toEqual(expected)
  })

  const whole = { Prefered: 'Hours', Days: 1, Hours: 8 }
  test.each([
    ['a PATCH merges the period field by field', 'PATCH', { Days: 2 }, { prefered: 'Hours', days: 2, hours: 8 }],
    ['a null for a part clears it', 'PATCH', { Prefered: null }, { prefered: null, days: 1, hours: 8 }],
    ['a PATCH without parts changes no part', 'PATCH', {}, { prefered: 'Hours', days: 1, hours: 8 }],
    ['a PATCH with null clears all parts', 'PATCH', null, null],
    ['a period without a value in any field is null', 'PATCH', { Prefered: null, Days: null, Hours: null }, null],
    ['a PUT does not merge', 'PUT', { Days: 2 }, { prefered: null, days: 2, hours: null }],
  ])('D14: %s: %s of %j gives the period %j', async (_, method, Period, period) => {
    const { id } = await createRow(server, '/Absences', { Reason: 'r', Period: whole })
    const { body } = await server.send(method, `/Absences/${id}`, { Reason: 'r', Period })
    expect([body.period, body.reason]).toEqual([period, 'r'])
    expect((await server.get(`/Absences/${id}`)).body).toEqual(body)
  })
})

describe('2 Date-times', () => {
  test.each([
    ['2023-07-03T09:00:00+02:00', '2023-07-03T07:00:00Z'],
    ['2023-12-31T23:30:00-05:30', '2024-01-01T05:00:00Z'],
    ['2023-07-03T09:00:59.999999999+00:00', '2023-07-03T09:00:59Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z'],
    ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59Z'],
    ['1969-12-31T23:59:59.5Z', '1969-12-31T23:59:59Z'],
    ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00Z'],
  ])('D15: %s is printed as %s, and is found by a filter with the text that was written', async (written, printed) => {
    const { body } = await server.post('/Absences', { Start: written })
    expect(body?.start).toBe(printed)
    expect((await server.get(`/Absences/${body.id}`)).body.start).toBe(printed)
    expect((await server.get(`/Absences?Id=${body.id}&Start=${encodeURIComponent(written)}`)).body).toEqual([body])
  })

  const [early, late] = ['2023-07-03T09:00:00Z', '2023-07-04T09:00:00Z']

  test('D13: an end before the start is 400 on End, for PATCH also against the stored value', async () => {
    const stored = await createRow(server, '/Absences', { Start: early, End: late })
    const path = `/Absences/${stored.id}`
    await expectAll(server, '400 InvalidValue End', [
      ['POST /Absences', { Start: late, End: early }],
      ['POST /Absences', { Start: '2023-07-03T09:00:00-02:00', End: '2023-07-03T10:00:00Z' }],
      [`PUT ${path}`, { Start: late, End: early }],
      [`PATCH ${path}`, { End: '2023-07-02T09:00:00Z' }],
      [`PATCH ${path}`, { Start: '2023-07-05T09:00:00Z' }],
    ])
    expect((await server.get(path)).body).toEqual(stored)
  })

  test.each([[early], [null]])(
    'D13: an end is valid if it equals the start, or if there is no start: start %p',
    async (Start) => {
      expect(await createRow(server, '/Absences', { Start, End: early })).toMatchObject({ start: Start, end: early })
    },
  )
})
