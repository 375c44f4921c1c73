import { beforeAll, describe, expect, test } from 'bun:test'
import { expectAll, outcomeOf } from '../support/cases.ts'
import { createRows, listed } from '../support/rows.ts'
import { useServer } from '../support/start.ts'

// test/properties/lists.test.ts compares random filters of each property and operator with a model.

const server = useServer()
const NAMES = ['Acme', 'acme', 'A B', 'A+B', '<b>', '=x', '50%&Söhne', '', null]
beforeAll(async () => {
  const isEnabled = (name: string | null) => name === 'Acme' || name === 'A B' || name === null
  await createRows(
    server,
    '/Companies',
    NAMES.map((Name) => ({ Name, Enabled: isEnabled(Name) })),
  )
  await createRows(server, '/Absences', [
    { Reason: 'one', Start: '2023-01-01T09:00:00Z', Period: { Days: 2 } },
    { Reason: 'two', Start: '2023-02-01T09:00:00Z', Period: { Days: 10.5 } },
    { Reason: 'three', Start: '2023-03-01T09:00:00Z', Period: { Days: 0.00000001, Prefered: 'Days' } },
    { Reason: 'four' },
  ])
})

const AT = '2023-02-01T09:00:00Z'
const not = (...names: (string | null)[]) => NAMES.filter((name) => !names.includes(name))

describe('4.2 Filtering', () => {
  test.each([
    ['rule 1', 'Id=1', ['Acme']],
    ['rule 1, D23: = is exact and case-sensitive', 'Name=Acme', ['Acme']],
    ['D23', 'Name=ACME', []],
    ['D23', 'Name=Acm', []],
    ['D23', 'Name=A%25', []],
    ['rule 1', 'Enabled=true', ['Acme', 'A B', null]],
    ['rule 2: the value is URL encoded', 'Name=50%25%26S%C3%B6hne', ['50%&Söhne']],
    ['rule 3: several filters must all match', 'Name=Acme&Enabled=true', ['Acme']],
    ['rule 3', 'Name=Acme&Enabled=false', []],
    ['rule 4: filters on the same property are all kept', 'Name=Acme&Name=acme', []],
    ['rule 4', 'Name=!=Acme&Name=!=acme&Enabled=true', ['A B', null]],
    ['rule 5: integers compare as numbers', 'Id=%3E=3&Id=%3C5', ['A B', 'A+B']],
    ['rule 5', 'Id=!=1', NAMES.slice(1)],
    ['rule 5', 'Id=-1', []],
    ['rule 5', `Id=%3C${'9'.repeat(30)}`, NAMES],
    ['D4: + in a filter value is a space', 'Name=A+B', ['A B']],
    ['D4', 'Name=A%20B', ['A B']],
    ['D4', 'Name=A%2BB', ['A+B']],
    ['D22: operators match longest first', 'Name=!==x', not('=x')],
    ['D22: a doubled = protects an operator', 'Name==%3Cb%3E', ['<b>']],
    ['D22', 'Name===x', ['=x']],
    ['D22', 'Name==Acme', ['Acme']],
    ['D24: of texts, null and the empty text both are without a value', 'Name=', ['', null]],
    ['D24', 'Name=!=&Enabled=true', ['Acme', 'A B']],
    ['D24: a boolean always has a value', 'Enabled=', []],
    ['D24', 'Enabled=!=', NAMES],
    ['D25: true and false in upper or lower case', 'Enabled=TRUE', ['Acme', 'A B', null]],
    ['D25', 'Enabled=!=False', ['Acme', 'A B', null]],
    ['D26: <, <=, > and >= compare texts as people order names', 'Name=>acme&Name=<B', ['Acme']],
    ['D26', 'Name=<=A+B&Name=!=', ['A B', '<b>', '=x', '50%&Söhne']],
  ])('%s: the filter %s finds the companies %j', async (_, query, names) => {
    expect(await listed(server, `/Companies?${query}`)).toEqual(names)
  })

  test.each([
    ['rule 5: a filter without an operator means =', `Start=${AT}`, ['two']],
    ['rule 5, D23: rows without a value are not equal to any', `Start=!=${AT}`, ['one', 'three', 'four']],
    ['rule 5, D24: < does not find rows without a value', `Start=%3C${AT}`, ['one']],
    ['rule 5, D24', `Start=%3C=${AT}`, ['one', 'two']],
    ['rule 5, D24', `Start=%3E${AT}`, ['three']],
    ['rule 5, D24', `Start=%3E=${AT}`, ['two', 'three']],
    ['rule 5: numbers compare as numbers', 'Period.Days=2', ['one']],
    ['rule 5', 'Period.Days==10.50', ['two']],
    ['rule 5', 'Period.Days=!=2.0', ['two', 'three', 'four']],
    ['rule 5, D22', 'Period.Days=<=2', ['one', 'three']],
    ['rule 5', 'Period.Days=%3E2', ['two']],
    ['rule 5', 'Period.Days=>-1', ['one', 'two', 'three']],
    ['rule 6: the operator may be percent-encoded or not', 'Start=%3C2023-02-01T09%3A00%3A00Z', ['one']],
    ['rule 6', `Start=<${AT}`, ['one']],
    ['rule 6', `Start=%3E%3D${AT}`, ['two', 'three']],
    ['rule 7: a range is two filters', 'Start=>2023-01-15T00:00:00Z&Start=<2023-02-15T00:00:00Z', ['two']],
    ['D23', 'Period.Prefered=!=Days', ['one', 'two', 'four']],
    ['D23', 'EmployeeId=!=1', ['one', 'two', 'three', 'four']],
    ['D24: an empty value finds the rows without one', 'Start=', ['four']],
    ['D24', 'Start', ['four']],
    ['D24', 'Start==', ['four']],
    ['D24', 'Start=!=', ['one', 'two', 'three']],
    ['D24', 'Period.Days=', ['four']],
  ])('%s: the filter %s finds the absences %j', async (_, query, reasons) => {
    expect(await listed(server, `/Absences?${query}`, 'reason')).toEqual(reasons)
  })

  test.each(['%', '%ZZ', '%4', '%FF', '%C3', '%ED%A0%80'])('D4: %s cannot be decoded, and is 400', (bytes) =>
    expectAll(
      server,
      '400 InvalidQueryString Api',
      [`Name=${bytes}`, `${bytes}=x`, `sort=${bytes}`].map((query) => [`GET /Companies?${query}`]),
    ),
  )

  test.each([
    ['a misspelled property', '/Companies?Enabld=true', 'Enabld', 'Enabled'],
    ['a misspelled part of an object', '/Absences?Period.Dys=1', 'Period.Dys', 'Period.Days'],
    ['a property of another entity', '/Companies?Start=1', 'Start', 'Start'],
    ['a part of an object without the object', '/Absences?Days=%3E2', 'Days', 'Did you mean Period.Days?'],
    ['a date', '/Absences?Date=2026-01-01', 'Date', 'Did you mean Start?'],
    ['the name of a copied property', '/Absences?EmployeeName=Ada', 'EmployeeName', 'Did you mean Employee?'],
    ['a filter as Directus has it', '/Absences?filter[status][_eq]=A', 'filter[status][_eq]', 'Write Status=A.'],
    ['a search', '/Employees?q=ada', 'q', 'A search names a property: DisplayName[contains]=ada.'],
    ['a search by another name', '/Employees?search=ada', 'search', 'A search names a property: DisplayName[contains]=ada.'],
    ['an operator before the =', '/Companies?Enabled!=true', 'Enabled!', 'as in Enabled=!=<value>'],
  ])('D21: %s is 400 with a hint: %s', async (_, path, target, hint) => {
    const answer = await server.get(path)
    expect(outcomeOf(answer)).toBe(`400 UnknownParameter ${target}`)
    expect(answer.body.Error.Message).toContain(hint)
  })

  test.each([
    ['D24', 'Companies', 'Name', ['<', '<=', '>', '>=']],
    ['D24', 'Absences', 'Start', ['<', '<=', '>', '>=']],
    ['D25', 'Companies', 'Enabled', ['<true', '<=false', '>false', '>=true']],
    ['D25', 'Companies', 'Enabled', ['yes', '1', 't', 'tru', ' true']],
    ['D25', 'Companies', 'Id', ['x', '1.0', '1e3', '0x10', '1_000', ' 12', '+1', '--1', '-', '१']],
    ['D25', 'Absences', 'EmployeeId', ['x', '1.5']],
    ['D25', 'Absences', 'Start', ['yesterday', '2023-02-30T00:00:00Z', '2023-01-01', '2023-01-01T00:00:00', '1672531200']],
    ['D25', 'Absences', 'Period.Days', ['x', '0x1', 'NaN', 'Infinity', '1,5', '.5', '1_0']],
    ['D25', 'Companies', 'Name', ['a\0b']],
  ])('%s: a filter of %s by %s with an invalid value is 400: %j', async (_, plural, name, operands) => {
    const all = operands.flatMap((operand) => (/^[<>]/.test(operand) ? [operand] : [operand, `!=${operand}`]))
    const requests = all.map((text) => [`GET /${plural}?${name}=${encodeURIComponent(text)}`] as const)
    await expectAll(server, `400 InvalidFilter ${name}`, requests)
  })
})
