import { beforeEach, describe, expect, test } from 'bun:test'
import { clientNamed } from '../../src/admit/address.ts'
import { type Key, Keyring } from '../../src/admit/keyring.ts'
import { Limiters, type RateLimitStatus } from '../../src/admit/limiter.ts'
import { LimiterFiles, ownLimitsOf } from '../../src/admit/limiterFiles.ts'
import { parseRules } from '../../src/model/limits.ts'
import type { Principal } from '../../src/model/principal.ts'
import { temporaryFolder } from '../support/process.ts'
import { wholeRights } from '../support/rights.ts'
import { makeKey, type TestKey } from '../support/server.ts'

const SETTINGS = {
  rateLimits: parseRules('9/1h'),
  rateLimitsAnonymous: parseRules('100000/2h'),
  rateLimitClients: 3,
  rateLimitsPersons: parseRules('4/1h'),
  oidcIssuer: null,
}

/** What a worker has, and the supervisor behind it. */
function limiterOf(...keys: TestKey[]) {
  const files = new LimiterFiles(temporaryFolder().path, SETTINGS)
  const memoryOf = (now: readonly TestKey[]) => files.ensure(ownLimitsOf(now.map(({ record }) => record)), () => undefined)
  const keyring = new Keyring(null, () => wholeRights())
  const memory = memoryOf(keys)
  const limiters = new Limiters(SETTINGS, memory, null)
  const update = (now: readonly TestKey[], own = memoryOf(now).own) => {
    keyring.replace(now.map(({ record }) => record))
    limiters.update(own)
  }
  update(keys)
  const find = ({ text }: TestKey) => keyring.find(text) as Key
  const said = ({ admitted, rule, remaining }: RateLimitStatus) => [admitted, rule.limit, remaining]
  const chargeKey = (key: Key) => limiters.of(key).charge(key.client) as RateLimitStatus
  const charge = (key: TestKey) => said(chargeKey(find(key)))
  return { limiters, memory, update, charge, said, find }
}

let ci: TestKey
let other: TestKey
beforeEach(() => {
  ci = makeKey({ name: 'ci' })
  other = makeKey({ name: 'other' })
})

const withLimits = (key: TestKey, limits: string | null): TestKey => ({ ...key, record: { ...key.record, limits } })

describe('D99: persons', () => {
  const SIGNED_IN = { ...SETTINGS, oidcIssuer: 'https://login.example.com', rateLimitsPersons: parseRules('4/1h') }
  const personNamed = (name: string): Principal => ({
    id: name,
    name,
    client: clientNamed('person', name),
    ownTable: null,
    isPerson: true,
    rightsNow: () => ({ rights: wholeRights(), moment: null }),
  })
  const limitersOf = () => {
    const files = new LimiterFiles(temporaryFolder().path, SIGNED_IN)
    return new Limiters(
      SIGNED_IN,
      files.ensure(null, () => undefined),
      null,
    )
  }
  const charge = (limiters: Limiters, person: Principal) => {
    const { admitted, remaining } = limiters.of(person).charge(person.client) as RateLimitStatus
    return admitted ? Number(remaining) : null
  }

  test('are counted apart from keys of the same name, and from each other', () => {
    const limiters = limitersOf()
    const [ann, ben] = [personNamed('ann'), personNamed('ben')]
    const key = { ...ann, isPerson: false, client: clientNamed('key', 'ann') }
    const counts = [ann, ann, key, ann, ann, ann, ben, key].map((one) => charge(limiters, one))
    expect(counts).toEqual([3, 2, 8, 1, 0, null, 3, 7])
  })

  test('have an entry each, as long as there are at most 8,000 of them', () => {
    const limiters = limitersOf()
    const persons = Array.from({ length: 8_000 }, (_, index) => personNamed(`person ${index}`))
    for (const left of [3, 2]) expect(persons.every((person) => charge(limiters, person) === left)).toBe(true)
    expect(limiters.persons?.windows.overflowed).toBe(0)
  })

  test('share one entry if the table is full, so that a flood of new persons is refused', () => {
    const limiters = limitersOf()
    const persons = Array.from({ length: 11_000 }, (_, index) => personNamed(`person ${index}`))
    const counts = persons.map((person) => charge(limiters, person))
    expect(counts.filter((left) => left === 3).length).toBeLessThanOrEqual(10_001)
    expect(counts.at(-1)).toBeNull()
    expect(limiters.persons?.windows.overflowed).toBeGreaterThanOrEqual(1_000)
  })
})

describe('keys with their own limits', () => {
  test('have the limits of RATE_LIMITS while they have no table of their own, even if they had one before', () => {
    const { charge, update } = limiterOf(other)
    update([withLimits(ci, '20/1h')], new Map())
    expect(charge(ci)).toEqual([true, 9, '8'])
    update([withLimits(ci, '20/1h')])
    expect(charge(ci)).toEqual([true, 20, '19'])
    update([withLimits(ci, '30/1h')], new Map())
    expect(charge(ci)).toEqual([true, 9, '7'])
  })

  test.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])(
    'may have the name %s, whether they have a table of their own or not',
    (name) => {
      const key = makeKey({ name, limits: '20/1h' })
      expect(limiterOf(key).charge(key)).toEqual([true, 20, '19'])
      const { charge, update } = limiterOf(other)
      update([key], new Map())
      expect(charge(key)).toEqual([true, 9, '8'])
    },
  )
})
