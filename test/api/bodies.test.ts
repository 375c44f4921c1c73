import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { sendRaw } from '../support/raw.ts'
import { listed } from '../support/rows.ts'
import { errorOf, type Json, startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

/** The faults of an answer: code and target of each entry of Details. */
const faultsOf = (body: Json) => body.Error.Details.map(({ Code, Target }: Json) => [Code, Target])
const postAs = (type: string, body: unknown = { Name: 'Typed' }) =>
  server.send('POST', '/Companies', body, { 'content-type': type })

describe('4.1 Property names in bodies', () => {
  test.each(['Name', 'name', 'NAME', 'nAmE'])('D2: %s is the name', async (key) => {
    expect((await server.post('/Companies', { [key]: 'Acme' })).body).toMatchObject({ name: 'Acme' })
  })

  test('D2: names inside an object match in any case too', async () => {
    const { body } = await server.post('/Absences', { PERIOD: { preFERED: 'Hours', days: 1 } })
    expect(body.period).toEqual({ prefered: 'Hours', days: 1, hours: null })
  })

  test.each([
    ['Name', '{"Name":"a","name":"b"}', '/Companies'],
    ['Id', '{"Id":1,"id":2}', '/Companies'],
    ['Period', '{"Period":{},"period":{}}', '/Absences'],
    ['Period.Days', '{"Period":{"Days":1,"days":2}}', '/Absences'],
  ])('D2: two keys that differ only by case are 400: %s', async (target, body, path) => {
    expect(errorOf(await server.post(path, body))).toEqual({ status: 400, code: 'DuplicateProperty', target })
  })

  test('D2: of the same key twice the last counts', async () => {
    expect((await server.post('/Companies', '{"Name":"a","Name":"b"}')).body).toMatchObject({ name: 'b' })
    const { body } = await server.post('/Absences', '{"Period":{"Days":1,"Days":2}}')
    expect(body.period.days).toBe(2)
  })

  test('D9: an unknown property is 400 and the message has the nearest known name', async () => {
    const answer = await server.post('/Companies', { Nmae: 'Acme' })
    expect(errorOf(answer)).toEqual({ status: 400, code: 'UnknownProperty', target: 'Nmae' })
    expect(answer.body.Error.Message).toContain('Did you mean Name?')
  })

  test.each(['__proto__', 'constructor', 'toString', '', 'name ', 'name_key'])('D9: "%s" is no property', async (key) => {
    const answer = await server.post('/Companies', `{${JSON.stringify(key)}:"x"}`)
    expect(errorOf(answer)).toEqual({ status: 400, code: 'UnknownProperty', target: key })
  })

  test('D9: one fault has its own code and target on top, and is in Details too', async () => {
    const { status, body } = await server.post('/Companies', { Name: 5 })
    expect({ status, code: body.Error.Code, target: body.Error.Target }).toEqual({
      ...{ status: 400, code: 'InvalidValue', target: 'Name' },
    })
    expect(body.Error.Details).toEqual([{ Code: 'InvalidValue', Target: 'Name', Message: body.Error.Message }])
  })

  test('D9: several faults are reported at once under ValidationFailed', async () => {
    const period = { Days: -1, Hours: '2' }
    const faulty = { Satus: 1, Type: 5, Start: '2023-02-30T00:00:00Z', EmployeeId: 'x', reason: 'a', Reason: 'b' }
    const answer = await server.post('/Absences', { ...faulty, Period: period, End: '2023-01-01T00:00:00Z' })
    expect(errorOf(answer)).toEqual({ status: 400, code: 'ValidationFailed', target: 'Body' })
    expect(faultsOf(answer.body)).toEqual([
      ['UnknownProperty', 'Satus'],
      ['InvalidValue', 'Type'],
      ['InvalidValue', 'Start'],
      ['InvalidValue', 'EmployeeId'],
      ['DuplicateProperty', 'Reason'],
      ['InvalidValue', 'Period.Days'],
      ['InvalidValue', 'Period.Hours'],
    ])
    for (const { Message } of answer.body.Error.Details) expect(Message).toMatch(/^\w.*[.?]$/)
  })

  test('D9: of a body with faults nothing is written', async () => {
    await server.post('/Companies', { Name: 'Half', Enbled: true })
    expect(await listed(server, '/Companies?Name=Half')).toEqual([])
  })
})

describe('4.1 Bodies', () => {
  test.each([
    'application/json',
    'APPLICATION/JSON',
    'application/json;charset=utf-8',
    'application/json; charset=UTF-8',
    'application/json ; charset="utf-8"',
    'application/vnd.roster.company+json',
    'application/merge-patch+json; charset=utf-8',
    'application/problem+JSON',
  ])('D18: %s is accepted', async (type) => {
    const { status, body } = await postAs(type)
    expect({ status, name: body?.name }).toEqual({ status: 201, name: 'Typed' })
  })

  test.each([
    'text/json',
    'application/jsonx',
    'application/jso',
    'application/xml',
    'application/octet-stream',
    'application/json; charset=iso-8859-1',
    'application/json; charset=utf-16',
    'application/json, text/plain',
    'x-application/json',
    'text/vnd.x+json',
    'application/+json',
    'json',
  ])('D18: %s is 415', async (type) => {
    expect(errorOf(await postAs(type))).toEqual({ status: 415, code: 'UnsupportedMediaType', target: 'Body' })
  })

  test.each(['POST /Companies', 'PUT /Companies/1', 'PATCH /Companies/1'])('D18: %s without type is 415', async (line) => {
    const { status, body } = await sendRaw(server, line, { 'Content-Length': '12' }, '{"Name":"x"}')
    expect({ status, code: JSON.parse(body).Error.Code }).toEqual({ status: 415, code: 'UnsupportedMediaType' })
  })

  test.each([
    ['no JSON', 'Name=Acme'],
    ['cut short', '{"Name":"Acme"'],
    ['single quotes', "{'Name':'Acme'}"],
    ['a comma too many', '{"Name":"Acme",}'],
    ['a comment', '{"Name":"Acme"} // x'],
    ['two objects', '{}{}'],
    ['a text', '"Acme"'],
    ['a number', '1'],
    ['null', 'null'],
    ['true', 'true'],
    ['white space', ' \n\t '],
    ['a number JSON does not know', '{"Name":NaN}'],
  ])('rule 7, D18: a body of %s is 400', async (_, body) => {
    expect(errorOf(await server.post('/Companies', body))).toEqual({ status: 400, code: 'InvalidJson', target: 'Body' })
  })

  test('D18: a deeply nested body is 400', async () => {
    const deep = `{"Name":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
    expect((await server.post('/Companies', deep)).status).toBe(400)
  })

  test.each(['POST /Companies', 'PUT /Companies/1', 'PATCH /Companies/1'])('D18: an empty body of %s is 400', async (line) => {
    const { status, body } = await sendRaw(server, line, {
      'Content-Type': 'application/json',
      'Content-Length': '0',
    })
    expect({ status, code: JSON.parse(body).Error.Code }).toEqual({ status: 400, code: 'InvalidJson' })
  })

  test.each([
    ['a lone byte', [0xff]],
    ['a sequence cut short', [0xc3]],
    ['an overlong form', [0xc0, 0x80]],
    ['an encoded surrogate', [0xed, 0xa0, 0x80]],
  ])('D18: a body that is not UTF-8, %s, is 400', async (_, bytes) => {
    const body = new Uint8Array([...Buffer.from('{"Name":"'), ...bytes, ...Buffer.from('"}')])
    expect(errorOf(await server.post('/Companies', body))).toEqual({ status: 400, code: 'InvalidJson', target: 'Body' })
  })

  test('D18: a body beyond ASCII arrives as it was sent', async () => {
    const { body } = await server.post('/Companies', { Name: 'Æther 北京 🦊' })
    expect((await server.get(`/Companies/${body.id}`)).body.name).toBe('Æther 北京 🦊')
  })
})
