import { describe, expect, test } from 'bun:test'
import { type Choice, mismatchedColumns, proposeColumns } from '../../src/pages/explore/importColumns.ts'
import { meaningsOf } from '../../src/spreadsheets/headerWords.ts'

const NONE = new Map()

/** Choices of a collection, by their values. */
const choices = (...values: string[]): Choice[] =>
  values.map((value) => {
    const [name = '', by = null] = value.split('=')
    const property = { name, references: by === null ? null : 'Employee', kind: { name: 'text' } } as Choice['property']
    return { value, label: value, names: [by === null ? name : value], property, by, byWords: by ?? '' }
  })

const EMPLOYEES = choices('EmployeeNumber', 'FirstName', 'LastName', 'Company', 'Department', 'WorkEmail', 'Started')
const ABSENCES = choices('EmployeeId=EmployeeNumber', 'EmployeeId=DisplayName', 'Start', 'End', 'Period.Days', 'Type')
const COMPANIES = choices('Name', 'Enabled')

describe('the proposals for the columns of a file in another language', () => {
  test.each([
    [
      'German people',
      EMPLOYEES,
      'Personal-Nr.;VORNAME;Nachname;Firma;Abteilung;E-Mail;Eintritt',
      'EmployeeNumber;FirstName;LastName;Company;Department;WorkEmail;Started',
    ],
    [
      'French people',
      EMPLOYEES,
      'Matricule;Prénom;Nom;Société;Service;Courriel;Date d’entrée',
      'EmployeeNumber;FirstName;LastName;Company;Department;WorkEmail;Started',
    ],
    ['Polish people', EMPLOYEES, 'Numer pracownika;Imię;Nazwisko;Dział', 'EmployeeNumber;FirstName;LastName;Department'],
    ['Italian people', EMPLOYEES, 'Nome;Cognome;Qualcosa', 'FirstName;LastName;'],
    ['German absences', ABSENCES, 'Personalnummer;Art;Von;Bis;Tage', 'EmployeeId=EmployeeNumber;Type;Start;End;Period.Days'],
    ['Italian companies', COMPANIES, 'Nome', 'Name'],
  ])('are the properties that the headers mean, for %s', (_, own, headers, expected) => {
    const columns = headers.split(';').map((header, index) => ({ index, header, examples: ['x'] }))
    const chosen = proposeColumns(columns, own, NONE, NONE)
    expect(columns.map(({ index }) => chosen.get(index) ?? '').join(';')).toBe(expected)
  })

  test('are what the reader has chosen before, even if that was nothing', () => {
    const columns = [{ index: 0, header: 'Vorname', examples: ['x'] }]
    expect([...proposeColumns(columns, EMPLOYEES, new Map([['vorname', 'LastName']]), NONE)]).toEqual([[0, 'LastName']])
    expect([...proposeColumns(columns, EMPLOYEES, new Map([['vorname', '']]), NONE)]).toEqual([])
  })

  test('are the property that the header names, even if another language uses this word for another property', () => {
    const columns = [{ index: 0, header: 'Service', examples: ['x'] }]
    expect([...proposeColumns(columns, choices('Department', 'Service'), NONE, NONE)]).toEqual([[0, 'Service']])
    expect(meaningsOf('Qualcosa')).toEqual([])
  })

  test.each([
    ['Ja and Nein', ['Ja', 'Nein'], false],
    ['only oui', ['oui'], false],
    ['J and N', ['J', 'N'], false],
    ['only J, which may be an initial', ['J'], true],
    ['1 and 0, which may be levels', ['1', '0'], true],
    ['words of two languages', ['Ja', 'Oui'], true],
    ['Ja, Nein and another word', ['Ja', 'Nein', 'Ruhend'], true],
    ['states', ['Aktiv', 'Inaktiv'], true],
  ])('are a text property, unless all values mean yes or no: %s', (_, examples, isProposed) => {
    const columns = [{ index: 0, header: 'Abteilung', examples }]
    const doubtful = mismatchedColumns(columns, EMPLOYEES, NONE)
    expect(proposeColumns(columns, EMPLOYEES, NONE, doubtful).get(0)).toBe(isProposed ? 'Department' : undefined)
    expect(doubtful.get(0)?.name).toBe(isProposed ? undefined : 'Department')
    for (const [before, expected] of [
      ['Department', 'Department'],
      ['', undefined],
    ] as const) {
      const remembered = new Map([['abteilung', before]])
      const doubtfulStill = mismatchedColumns(columns, EMPLOYEES, remembered)
      expect(doubtfulStill.size).toBe(0)
      expect(proposeColumns(columns, EMPLOYEES, remembered, doubtfulStill).get(0)).toBe(expected)
    }
  })

  test('are not marked as doubtful for a property of listed values, even if the values are yes and no', () => {
    const columns = [{ index: 0, header: 'Remote', examples: ['Yes', 'No'] }]
    const [free] = choices('Remote') as [Choice]
    const listed = { ...free, property: { ...free.property, kind: { name: 'oneOf' as const } } }
    expect(mismatchedColumns(columns, [free], NONE).has(0)).toBe(true)
    expect(mismatchedColumns(columns, [listed], NONE).has(0)).toBe(false)
  })
})
