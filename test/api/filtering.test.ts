import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createRows, listed } from '../support/rows.ts'
import { errorOf, startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer()
  await createRows(server, '/Companies', [
    { Name: 'Acme', Enabled: true },
    { Name: 'acme' },
    { Name: 'A B', Enabled: true },
    { Name: 'A+B' },
    { Name: '<b>' },
    { Name: '=x' },
    { Name: '50%&Söhne' },
    { Name: '' },
    { Enabled: true },
  ])
  await createRows(server, '/Absences', [
    { Reason: 'one', Start: '2023-01-01T09:00:00Z', Period: { Days: 2 } },
    { Reason: 'two', Start: '2023-02-01T09:00:00Z', Period: { Days: 10.5 } },
    { Reason: 'three', Start: '2023-03-01T09:00:00Z', Period: { Days: 0.00000001, Prefered: 'Days' } },
    { Reason: 'four' },
  ])
})
afterAll(() => server.stop())

const companies = (query: string) => listed(server, `/Companies?${query}`)
const absences = (query: string) => listed(server, `/Absences?${query}`, 'reason')
const refusal = async (query: string, path = '/Companies') => errorOf(await server.get(`${path}?${query}`))

describe('4.2 Filtering', () => {
  test('rule 1: companies are filtered by Id, Name and Enabled', async () => {
    const [first] = (await server.get('/Companies')).body
    expect(await companies(`Id=${first.id}`)).toEqual(['Acme'])
    expect(await companies('Name=Acme')).toEqual(['Acme'])
    expect(await companies('Enabled=true')).toEqual(['Acme', 'A B', null])
  })

  test('rule 2: the value is URL encoded', async () => {
    expect(await companies(`Name=${encodeURIComponent('50%&Söhne')}`)).toEqual(['50%&Söhne'])
  })

  test('rule 3: several filters must all match', async () => {
    expect(await companies('Name=Acme&Enabled=true')).toEqual(['Acme'])
    expect(await companies('Name=Acme&Enabled=false')).toEqual([])
  })

  test('rule 4: filters on the same property are all kept', async () => {
    expect(await companies('Name=Acme&Name=acme')).toEqual([])
    expect(await companies('Name=!=Acme&Name=!=acme&Enabled=true')).toEqual(['A B', null])
  })

  test.each([
    ['', ['two']],
    ['=', ['two']],
    ['!=', ['one', 'three', 'four']],
    ['<', ['one']],
    ['<=', ['one', 'two']],
    ['>', ['three']],
    ['>=', ['two', 'three']],
  ])('rule 5: the operator "%s" in front of a date-time', async (operator, reasons) => {
    expect(await absences(`Start=${encodeURIComponent(`${operator}2023-02-01T09:00:00Z`)}`)).toEqual(reasons)
  })

  test.each([
    ['2', ['one']],
    ['=10.50', ['two']],
    ['!=2.0', ['two', 'three', 'four']],
    ['<2', ['three']],
    ['<=2', ['one', 'three']],
    ['>2', ['two']],
    ['>=2', ['one', 'two']],
    ['>0', ['one', 'two', 'three']],
    ['>-1', ['one', 'two', 'three']],
  ])('rule 5: numbers compare as numbers: Period.Days=%s', async (operand, reasons) => {
    expect(await absences(`Period.Days=${encodeURIComponent(operand)}`)).toEqual(reasons)
  })

  test('rule 5: integers compare as numbers', async () => {
    const ids: number[] = await listed(server, '/Companies', 'id')
    expect(await listed(server, `/Companies?Id=%3E=${ids[2]}&Id=%3C${ids[4]}`, 'id')).toEqual([ids[2], ids[3]])
    expect(await listed(server, `/Companies?Id=!=${ids[0]}`, 'id')).toEqual(ids.slice(1))
    expect(await companies('Id=-1')).toEqual([])
    expect(await companies(`Id=%3C${'9'.repeat(30)}`)).toHaveLength(9)
  })

  test('rule 6: the operator may be encoded or stand as it is', async () => {
    expect(await absences('Start=%3C2023-02-01T09%3A00%3A00Z')).toEqual(['one'])
    expect(await absences('Start=<2023-02-01T09:00:00Z')).toEqual(['one'])
    expect(await absences('Start=%3E%3D2023-02-01T09:00:00Z')).toEqual(['two', 'three'])
  })

  test('rule 7: a range is two filters on one property', async () => {
    expect(await absences('Start=>2023-01-15T00:00:00Z&Start=<2023-02-15T00:00:00Z')).toEqual(['two'])
  })

  test.each(['%', '%ZZ', '%4', '%FF', '%C3', '%ED%A0%80'])('D4: %s cannot be decoded', async (bytes) => {
    const invalid = { status: 400, code: 'InvalidQueryString', target: 'Api' }
    expect(await refusal(`Name=${bytes}`)).toEqual(invalid)
    expect(await refusal(`${bytes}=x`)).toEqual(invalid)
    expect(await refusal(`sort=${bytes}`)).toEqual(invalid)
  })

  test('D4: + in a filter value is a space, %2B a plus', async () => {
    expect(await companies('Name=A+B')).toEqual(['A B'])
    expect(await companies('Name=A%20B')).toEqual(['A B'])
    expect(await companies('Name=A%2BB')).toEqual(['A+B'])
  })

  test('D21: an unknown parameter is 400, names the parameter and the nearest known name', async () => {
    const answer = await server.get('/Companies?Enabld=true')
    expect(errorOf(answer)).toEqual({ status: 400, code: 'UnknownParameter', target: 'Enabld' })
    expect(answer.body.Error.Message).toContain('Enabled')
    expect(await refusal('Period.Dys=1', '/Absences')).toMatchObject({ code: 'UnknownParameter', target: 'Period.Dys' })
    expect(await refusal('Start=1')).toMatchObject({ status: 400, code: 'UnknownParameter', target: 'Start' })
  })

  test('D21: an operator before the = makes an unknown name, which is not ignored', async () => {
    const answer = await server.get('/Companies?Enabled!=true')
    expect(errorOf(answer)).toEqual({ status: 400, code: 'UnknownParameter', target: 'Enabled!' })
    expect(answer.body.Error.Message).toContain('as in Enabled=!=<value>')
  })

  test('D22: operators match longest first', async () => {
    expect(await absences('Period.Days=<=2')).toEqual(['one', 'three'])
    expect(await companies('Name=!==x')).not.toContain('=x')
  })

  test('D22: a doubled = protects a value that begins with an operator', async () => {
    expect(await companies(`Name==${encodeURIComponent('<b>')}`)).toEqual(['<b>'])
    expect(await companies('Name===x')).toEqual(['=x'])
    expect(await companies('Name==Acme')).toEqual(['Acme'])
  })

  test('D23: = on text is exact and case-sensitive', async () => {
    expect(await companies('Name=Acme')).toEqual(['Acme'])
    expect(await companies('Name=ACME')).toEqual([])
    expect(await companies('Name=Acm')).toEqual([])
    expect(await companies('Name=A%25')).toEqual([])
  })

  test.each([
    ['Companies', 'Name', 'Acme'],
    ['Companies', 'Name', ''],
    ['Companies', 'Enabled', 'true'],
    ['Companies', 'Enabled', ''],
    ['Absences', 'Start', '2023-02-01T09:00:00Z'],
    ['Absences', 'Period.Days', '2'],
    ['Absences', 'Period.Prefered', 'Days'],
    ['Absences', 'EmployeeId', '1'],
  ])('D23: on %s, %s = and != "%s" together return each row once', async (plural, name, value) => {
    const equal = await listed(server, `/${plural}?${name}==${value}`, 'id')
    const other = await listed(server, `/${plural}?${name}=!=${value}`, 'id')
    const all = await listed(server, `/${plural}`, 'id')
    expect([...equal, ...other].sort((a, b) => a - b)).toEqual(all)
  })

  test('D23: rows without a value are not equal to any', async () => {
    expect(await absences('Period.Prefered=!=Days')).toEqual(['one', 'two', 'four'])
    expect(await absences('EmployeeId=!=1')).toHaveLength(4)
  })

  test('D24: an empty value finds the rows without one, != the others', async () => {
    expect(await absences('Start=')).toEqual(['four'])
    expect(await absences('Start')).toEqual(['four'])
    expect(await absences('Start==')).toEqual(['four'])
    expect(await absences('Start=!=')).toEqual(['one', 'two', 'three'])
    expect(await absences('Period.Days=')).toEqual(['four'])
  })

  test('D24: of texts, null and the empty text both are without a value', async () => {
    expect(await companies('Name=')).toEqual(['', null])
    expect(await companies('Name=!=&Enabled=true')).toEqual(['Acme', 'A B'])
  })

  test('D24: a boolean always has a value', async () => {
    expect(await companies('Enabled=')).toEqual([])
    expect(await companies('Enabled=!=')).toHaveLength(9)
  })

  test.each(['<', '<=', '>', '>='])('D24: %s with an empty value is 400', async (operator) => {
    const invalid = { status: 400, code: 'InvalidFilter' }
    expect(await refusal(`Name=${operator}`)).toEqual({ ...invalid, target: 'Name' })
    expect(await refusal(`Start=${operator}`, '/Absences')).toEqual({ ...invalid, target: 'Start' })
  })

  test.each([
    ['>=2023-02-01T09:00:00Z', '<2023-02-01T09:00:00Z'],
    ['>2023-02-01T09:00:00Z', '<=2023-02-01T09:00:00Z'],
  ])('D24: rows without a value match neither %s nor %s', async (one, other) => {
    expect([...(await absences(`Start=${one}`)), ...(await absences(`Start=${other}`))]).not.toContain('four')
  })

  test.each(['<true', '<=false', '>false', '>=true'])('D25: Enabled=%s is 400', async (operand) => {
    expect(await refusal(`Enabled=${operand}`)).toEqual({ status: 400, code: 'InvalidFilter', target: 'Enabled' })
  })

  test.each([
    ['Companies', 'Enabled', ['yes', '1', 't', 'tru', ' true']],
    ['Companies', 'Id', ['x', '1.0', '1e3', '0x10', '1_000', ' 12', '+1', '--1', '-', '१']],
    ['Absences', 'EmployeeId', ['x', '1.5']],
    ['Absences', 'Start', ['yesterday', '2023-02-30T00:00:00Z', '2023-01-01', '2023-01-01T00:00:00', '1672531200']],
    ['Absences', 'Period.Days', ['x', '0x1', 'NaN', 'Infinity', '1,5', '.5', '1_0']],
    ['Companies', 'Name', ['a\0b']],
  ])('D25: on %s, a value that is none for %s is 400', async (plural, name, operands) => {
    for (const operand of operands)
      for (const operator of ['', '!='])
        expect({
          operand,
          ...(await refusal(`${name}=${encodeURIComponent(operator + operand)}`, `/${plural}`)),
        }).toEqual({ operand, status: 400, code: 'InvalidFilter', target: name })
  })

  test('D25: booleans are true and false in any case', async () => {
    expect(await companies('Enabled=TRUE')).toEqual(['Acme', 'A B', null])
    expect(await companies('Enabled=!=False')).toEqual(['Acme', 'A B', null])
  })

  test('D26: < and its like compare text as people order names', async () => {
    expect(await companies('Name=>acme&Name=<B')).toEqual(['Acme'])
    expect(await companies(`Name=<=${encodeURIComponent('A B')}&Name=!=`)).not.toContain('Acme')
  })
})
