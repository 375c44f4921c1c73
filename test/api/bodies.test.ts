import { describe, expect, test } from 'bun:test'
import { expectAll, faultsOf, outcomeOf } from '../support/cases.ts'
import { sendRaw } from '../support/raw.ts'
import { createRow } from '../support/rows.ts'
import { useServer } from '../support/start.ts'

const server = useServer()

const postAs = (type: string) => server.send('POST', '/Companies', { Name: 'Typed' }, { 'content-type': type })

describe('4.1 Property names in bodies', () => {
  test.each(['Name', 'name', 'NAME', 'nAmE'])('D2: the key %s sets the name', async (key) => {
    expect((await server.post('/Companies', { [key]: 'Acme' })).body).toMatchObject({ name: 'Acme' })
    const { body } = await server.post('/Absences', { PERIOD: { preFERED: 'Hours', days: 1 } })
    expect(body.period).toEqual({ prefered: 'Hours', days: 1, hours: null })
  })

  test.each([
    ['Name', '{"Name":"a","name":"b"}', '/Companies'],
    ['Id', '{"Id":1,"id":2}', '/Companies'],
    ['Period', '{"Period":{},"period":{}}', '/Absences'],
    ['Period.Days', '{"Period":{"Days":1,"days":2}}', '/Absences'],
  ])('D2: two keys that differ only by case are 400: %s', (target, body, path) =>
    expectAll(server, `400 DuplicateProperty ${target}`, [[`POST ${path}`, body]]),
  )

  test('D2: the last of two equal keys counts', async () => {
    expect((await server.post('/Companies', '{"Name":"a","Name":"b"}')).body).toMatchObject({ name: 'b' })
    const { body } = await server.post('/Absences', '{"Period":{"Days":1,"Days":2}}')
    expect(body.period.days).toBe(2)
  })

  test.each(['__proto__', 'constructor', 'toString', '', 'name ', 'name_key', 'Nmae'])(
    'D9: a property named "%s" is 400 UnknownProperty',
    async (key) => {
      const answer = await server.post('/Companies', `{${JSON.stringify(key)}:"x"}`)
      expect(outcomeOf(answer)).toBe(`400 UnknownProperty ${key}`)
      if (key === 'Nmae') expect(answer.body.Error.Message).toContain('Did you mean Name?')
    },
  )

  test('D9: a single fault gives the error its code and target, and is also in Details', async () => {
    const answer = await server.post('/Companies', { Name: 5 })
    expect(outcomeOf(answer)).toBe('400 InvalidValue Name')
    const { Details, Message } = answer.body.Error
    expect(Details).toEqual([{ Code: 'InvalidValue', Target: 'Name', Message }])
  })

  test('D9: several faults are reported together under ValidationFailed', async () => {
    const period = { Days: -1, Hours: '2' }
    const faulty = { Satus: 1, Type: 5, Start: '2023-02-30T00:00:00Z', EmployeeId: 'x', reason: 'a', Reason: 'b' }
    const answer = await server.post('/Absences', { ...faulty, Period: period, End: '2023-01-01T00:00:00Z' })
    expect(outcomeOf(answer)).toBe('400 ValidationFailed Body')
    expect(faultsOf(answer)).toEqual([
      ...['UnknownProperty Satus', 'InvalidValue Type', 'InvalidValue Start', 'InvalidValue EmployeeId'],
      ...['DuplicateProperty Reason', 'InvalidValue Period.Days', 'InvalidValue Period.Hours'],
    ])
    for (const { Message } of answer.body.Error.Details) expect(Message).toMatch(/^\w.*[.?]$/)
  })
})

describe('4.1 Bodies', () => {
  test.each([
    ...['application/json', 'APPLICATION/JSON', 'application/json; charset=UTF-8', 'application/json ; charset="utf-8"'],
    ...['application/vnd.roster.company+json', 'application/merge-patch+json; charset=utf-8', 'application/problem+JSON'],
    ...['application/json; charset=utf8', 'application/json;charset="UTF8"; v=1'],
    ...['application/json;', 'application/json; profile="x"', 'application/json; charset=utf-8; odata.metadata=minimal'],
  ])('D18: a body of the type %s is accepted', async (type) => {
    const { status, body } = await postAs(type)
    expect([status, body?.name]).toEqual([201, 'Typed'])
  })

  test.each([
    ...['text/json', 'application/jsonx', 'application/jso', 'application/xml', 'application/octet-stream', 'json'],
    ...['application/json; charset=iso-8859-1', 'application/json; charset=utf-16', 'application/json, text/plain'],
    ...['application/json; v=1; charset=latin1', 'application/json;charset=utf-80'],
    ...['application/json; charset=utf8x', 'application/json; charset=utf--8', 'application/json; charset=utf8; charset=latin1'],
    ...['x-application/json', 'text/vnd.x+json', 'application/+json', 'text/plain', 'text/xml'],
    ...['application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'],
  ])('1, rule 2, D18: a body declared as %s is 415, even if it is JSON, and nothing is written', async (type) => {
    const before = (await server.get('/Companies')).headers.get('x-total-count')
    expect(outcomeOf(await postAs(type))).toBe('415 UnsupportedMediaType Body')
    expect((await server.get('/Companies')).headers.get('x-total-count')).toBe(before)
  })

  test.each(['POST /Companies', 'PUT /Companies/1', 'PATCH /Companies/1'])(
    'D18: %s without a Content-Type is 415, or 400 if the body is empty',
    async (line) => {
      const outcome = async (headers: Record<string, string>, sent: string) => {
        const { status, body } = await sendRaw(server, line, { 'Content-Length': String(sent.length), ...headers }, sent)
        return `${status} ${JSON.parse(body).Error.Code}`
      }
      expect(await outcome({}, '{"Name":"x"}')).toBe('415 UnsupportedMediaType')
      expect(await outcome({ 'Content-Type': 'application/json' }, '')).toBe('400 InvalidJson')
    },
  )

  const notUtf8 = (...bytes: number[]) => new Uint8Array([...Buffer.from('{"Name":"'), ...bytes, ...Buffer.from('"}')])
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
    ['white space', ' \n\t '],
    ['a number JSON does not know', '{"Name":NaN}'],
    ['a lone byte', notUtf8(0xff)],
    ['a sequence cut short', notUtf8(0xc3)],
    ['an overlong form', notUtf8(0xc0, 0x80)],
    ['an encoded surrogate', notUtf8(0xed, 0xa0, 0x80)],
    ['100,000 arrays in each other', `{"Name":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
  ])('rule 7, D18: a body that is not a JSON object is 400: %s', async (_, body) => {
    expect(outcomeOf(await server.post('/Companies', body))).toBe('400 InvalidJson Body')
  })

  test('D18: a body of characters beyond ASCII is stored as it was sent', async () => {
    const { id } = await createRow(server, '/Companies', { Name: 'Æther 北京 🦊' })
    expect((await server.get(`/Companies/${id}`)).body.name).toBe('Æther 北京 🦊')
  })
})
