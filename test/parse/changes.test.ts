import { describe, expect, test } from 'bun:test'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import { comparePositions, readToken, SealedTokens, writeToken } from '../../src/model/changesToken.ts'
import { parseChanges } from '../../src/parse/changes.ts'
import { refusalOf } from '../support/refusal.ts'

const ENTITIES = [absence, company]
const parse = (query: string) => parseChanges(query, ENTITIES)
const TOKEN = { run: '0123456789ab', position: '4711', number: '12' }

describe('the parameters of the change feed', () => {
  test('have defaults and bounds, and a value beyond a bound becomes the bound', () => {
    expect(parse('')).toEqual({ after: null, entities: null, pageSize: 100, waitMs: 0, hasRows: false })
    expect(parse('pagesize=1000&WAIT=99')).toMatchObject({ pageSize: 500, waitMs: 30_000 })
    expect(parse('PageSize=0&wait=-1')).toMatchObject({ pageSize: 1, waitMs: 0 })
    expect(parse('PageSize=2251799813685247&wait=-99999999999999999')).toMatchObject({ pageSize: 500, waitMs: 0 })
  })

  test('name a position (after) and entities (entity)', () => {
    for (const entities of ['entity=companies,Absences', 'entity=companies&Entity=Absences'])
      expect(parse(`after=NOW&${entities}`)).toMatchObject({ after: 'now', entities: ENTITIES })
    expect(parse(`after=${writeToken(TOKEN)}`).after).toEqual(TOKEN)
  })

  // A history has only the parameters of its position and of the size of a page.
  test.each([
    ['feed', 'PageSize=x', 'InvalidPageSize PageSize', /./],
    ['feed', 'wait=1.5', 'InvalidWait wait', /./],
    ['feed', 'wait=1&wait=1', 'InvalidWait wait', /./],
    ['feed', 'entity=', 'InvalidFilter entity', /./],
    ['feed', 'entity=Companies&entity=', 'InvalidFilter entity', /./],
    ['feed', 'entity=Absence', 'InvalidFilter entity', /./],
    ['feed', 'after=', 'InvalidToken after', /./],
    ['feed', 'since=now', 'UnknownParameter since', /Did you mean after\?$/],
    ['feed', 'limit=5', 'UnknownParameter limit', /Did you mean PageSize\?$/],
    ['feed', 'Entty=x', 'UnknownParameter Entty', /Did you mean entity\?$/],
    ['feed', 'timeout=5', 'UnknownParameter timeout', /Did you mean wait\?$/],
    ['history', 'wait=1', 'UnknownParameter wait', /./],
    ['history', 'entity=1', 'UnknownParameter entity', /./],
    ['history', 'timeout=5', 'UnknownParameter timeout', /"timeout"\.$/],
  ])('of a %s are refused if invalid: %s gets %s', (what, query, outcome, message) => {
    const refused = refusalOf(() => parseChanges(query, what === 'feed' ? ENTITIES : null))
    expect(refused).toMatchObject({ outcome, message: expect.stringMatching(message) })
  })
})

describe('a token of the change feed', () => {
  test('is read if it is as it was written, and refused if it was altered', () => {
    expect(readToken(writeToken(TOKEN))).toEqual(TOKEN)
    const altered = ['', 'x', `${writeToken(TOKEN)}=`, ` ${writeToken(TOKEN)}`, writeToken({ ...TOKEN, position: '01' })]
    expect(altered.map(readToken)).toEqual(altered.map(() => null))
  })

  test('has a position that is compared by its numbers, not digit by digit', () => {
    const place = (position: string, number: string) => ({ position, number })
    expect(comparePositions(place('9', '5'), place('10', '1'))).toBeLessThan(0)
    expect(comparePositions(place('10', '9'), place('10', '10'))).toBeLessThan(0)
    expect(comparePositions(place('9007199254740993', '0'), place('9007199254740992', '9'))).toBeGreaterThan(0)
    expect(comparePositions(place('1', '1'), place('1', '1'))).toBe(0)
  })
})

describe('a sealed token', () => {
  const tokens = new SealedTokens(() => 'secret')
  const plain = writeToken(TOKEN)

  test('is read as the plain token that was sealed; readSealed() reads a plain token as a token of no feed', () => {
    expect(tokens.read(tokens.seal(plain))).toEqual(TOKEN)
    expect(tokens.read(plain)).toEqual(TOKEN)
    expect(tokens.readSealed(tokens.seal(plain))).toEqual(TOKEN)
    expect(tokens.readSealed(plain)?.run).toBe('')
    expect(tokens.seal(plain)).toBe(new SealedTokens(() => 'secret').seal(plain))
  })

  test('has the same length for all positions, and does not contain the run of the feed', () => {
    const far = { run: TOKEN.run, position: '9223372036854775807', number: '9223372036854775807' }
    const [one, other] = [TOKEN, far].map((token) => tokens.seal(writeToken(token))) as [string, string]
    expect(tokens.read(other)).toEqual(far)
    expect([one.length, other.length]).toEqual([91, 91])
    expect(Buffer.from(one, 'base64url').toString('latin1')).not.toContain(TOKEN.run)
  })

  test('is read as a token of no feed if it was altered or sealed with another secret', () => {
    const sealed = tokens.seal(plain)
    const altered = Array.from(
      sealed,
      (letter, index) => sealed.slice(0, index) + (letter === 'A' ? 'B' : 'A') + sealed.slice(index + 1),
    )
    const foreign = [new SealedTokens(() => 'other').seal(plain), tokens.seal(Buffer.from('no position').toString('base64url'))]
    for (const text of [...altered, ...foreign]) expect(tokens.read(text)).toEqual({ run: '', position: '0', number: '0' })
    expect([`${sealed}=`, ` ${sealed}`].map((text) => tokens.read(text)?.run)).toEqual(['', ''])
    expect([sealed.slice(1), `${sealed}AAAA`, ''].map((text) => tokens.read(text))).toEqual([null, null, null])
  })
})
