// Lists of employees by their names, and creates of employees with new names. Random values make each list different.
import type { Rows } from './data.ts'
import type { Operation } from './operation.ts'

const PAGE_SIZE = 20
/** Fraction of the pages that are requested by number. The last pages are reached only by cursors. */
const PART_OF_PAGES = 0.9
const CAPITAL = '{B|C|D|F|G|H|J|K|L|M|N|P|R|S|T|V|W|Z}'
const VOWEL = '{a|e|i|o|u}'
const CONSONANT = '{b|d|g|k|l|m|n|r|s|t|v}'
/** Placeholder for one of 16,000,000 texts, so that hardly any text is drawn twice. */
const ANY_NAME = `${CAPITAL}${VOWEL}${CONSONANT}${VOWEL}${CONSONANT}${VOWEL}`
const ANY_SECOND = 'Started=%3E{2016-01-01..2025-11-01}'

/** Returns lists of employees with filters and sorts by texts. They are measured while employees with new texts are created. */
export function listsByNameFor({ employees }: Rows): readonly Operation[] {
  const pages = Math.max(2, Math.floor((PART_OF_PAGES * employees) / PAGE_SIZE))
  return [
    list('last-names', `LastName=%3E${ANY_NAME}&sort=LastName,FirstName`),
    list('display-names', `DisplayName=%3C${ANY_NAME}&sort=-DisplayName`),
    list('between', `LastName=%3E%3DA${VOWEL}${ANY_NAME}&LastName=%3CT${VOWEL}${ANY_NAME}&sort=-Started`),
    list('mail', `WorkEmail=%3E${ANY_NAME}&sort=WorkEmail`),
    list('begins', `LastName%5Bbegins%5D=${CONSONANT}${VOWEL}&${ANY_SECOND}&sort=LastName`),
    list('contains', `DisplayName%5Bcontains%5D=${VOWEL}${CONSONANT}&${ANY_SECOND}&sort=DisplayName`),
    { ...list('pages', `sort=DisplayName&page={1..${pages}!}`), nextKind: 'cursors' },
  ]
}

/** Returns creates of employees whose number, names and address no row has had before. */
export function createsWithNewNames({ companies }: Rows): readonly Operation[] {
  const name = `${CAPITAL}${VOWEL}${CONSONANT}{á|ä|e|é|i|o|ö|ø|u|ü}${CONSONANT}${VOWEL}`
  const body = `{"EmployeeNumber":"N{100000000..999999999}","FirstName":"${name}","LastName":"${name}${CONSONANT}",\
"WorkEmail":"{100000000..999999999}@example.com","CompanyId":{1..${companies}},"Started":"{2016-01-01..2025-11-01}"}`
  return [{ method: 'POST', path: '/Employees', body, status: 201 }]
}

function list(kind: string, query: string): Operation {
  return { method: 'GET', path: `/Employees?${query}`, status: 200, kind }
}
