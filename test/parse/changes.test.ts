import { describe, expect, test } from 'bun:test'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import { ApiError } from '../../src/errors.ts'
import { comparePositions, readToken, writeToken } from '../../src/model/changesToken.ts'
import { parseChanges } from '../../src/parse/changes.ts'

const ENTITIES = [absence, company]
const parse = (query: string) => parseChanges(query, ENTITIES)
const refusal = (query: string, entities: Parameters<typeof parseChanges>[1] = ENTITIES) => {
  try {
    return parseChanges(query, entities)
  } catch (error) {
    return error instanceof ApiError ? `${error.code} ${error.target}` : error
  }
}
const TOKEN = { run: '0123456789ab', position: '4711', number: '12' }

describe('the parameters of the change feed', () => {
  test('have defaults, and bounds to which values are set', () => {
    expect(parse('')).toEqual({ after: null, entities: null, pageSize: 100, waitMs: 0, hasRows: false })
    expect(parse('pagesize=1000&WAIT=99')).toMatchObject({ pageSize: 500, waitMs: 30_000 })
    expect(parse('PageSize=0&wait=-1')).toMatchObject({ pageSize: 1, waitMs: 0 })
    expect(parse('PageSize=2251799813685247&wait=-99999999999999999')).toMatchObject({ pageSize: 500, waitMs: 0 })
  })

  test('name a position and entities', () => {
    for (const entities of ['entity=companies,Absences', 'entity=companies&Entity=Absences'])
      expect(parse(`after=NOW&${entities}`)).toMatchObject({ after: 'now', entities: ENTITIES })
    expect(parse(`after=${writeToken(TOKEN)}`).after).toEqual(TOKEN)
  })

  test.each([
    ['PageSize=x', 'InvalidPageSize PageSize'],
    ['wait=1.5', 'InvalidWait wait'],
    ['wait=1&wait=1', 'InvalidWait wait'],
    ['entity=', 'InvalidFilter entity'],
    ['entity=Companies&entity=', 'InvalidFilter entity'],
    ['entity=Absence', 'InvalidFilter entity'],
    ['after=', 'InvalidToken after'],
    ['since=now', 'UnknownParameter since'],
  ])('are refused by name if they are unknown: %s', (query, expected) => {
    expect(refusal(query)).toBe(expected)
  })

  test('of one row’s history are only its position and the size of a page', () => {
    for (const name of ['wait', 'entity']) expect(refusal(`${name}=1`, null)).toBe(`UnknownParameter ${name}`)
  })
})

describe('a token of the change feed', () => {
  test('is read exactly as it was written', () => {
    expect(readToken(writeToken(TOKEN))).toEqual(TOKEN)
    const altered = ['', 'x', `${writeToken(TOKEN)}=`, ` ${writeToken(TOKEN)}`, writeToken({ ...TOKEN, position: '01' })]
    expect(altered.map(readToken)).toEqual(altered.map(() => null))
  })

  test('is ordered by its numbers, not by their digits', () => {
    const place = (position: string, number: string) => ({ position, number })
    expect(comparePositions(place('9', '5'), place('10', '1'))).toBeLessThan(0)
    expect(comparePositions(place('10', '9'), place('10', '10'))).toBeLessThan(0)
    expect(comparePositions(place('9007199254740993', '0'), place('9007199254740992', '9'))).toBeGreaterThan(0)
    expect(comparePositions(place('1', '1'), place('1', '1'))).toBe(0)
  })
})

test.each([
  ['limit=5', 'Did you mean PageSize?'],
  ['since=x', 'Did you mean after?'],
  ['Entty=x', 'Did you mean entity?'],
  ['timeout=5', 'Did you mean wait?'],
])('a query of changes with %s is refused with the parameter that was probably meant: %s', (query, hint) => {
  expect(() => parse(query)).toThrow(hint)
})

test('the history of a row has no hint for timeout, since it has no wait', () => {
  expect(() => parseChanges('timeout=5', null)).toThrow(/"timeout"\.$/)
})
