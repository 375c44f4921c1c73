import { expect, test } from 'bun:test'
import postgres from 'postgres'
import { Pauses } from '../../src/changes/pauses.ts'

const withCode = (code: string) => Object.assign(new Error(code), { code })
const fromPostgres = (code: string): Error => {
  const error = Object.create(postgres.PostgresError.prototype) as Error
  return Object.assign(error, { code })
}

const CASES: [string, Error | null, number][] = [
  ['nothing answers', withCode('ECONNREFUSED'), 500],
  ['PostgreSQL starts', fromPostgres('57P03'), 500],
  ['the connection was ended', fromPostgres('57P01'), 500],
  ['no pulse came', new Error('no pulse'), 500],
  ['there is something to wait for', null, 500],
  ['rights are missing', fromPostgres('42501'), 5_000],
  ['it only reads', fromPostgres('25006'), 5_000],
  ['its disk is full', fromPostgres('53100'), 5_000],
  ['it has no connection left', fromPostgres('53300'), 5_000],
]

for (const [why, error, mostMs] of CASES)
  test(`where ${why}, each pause is twice the one before, up to ${mostMs} ms`, () => {
    const pauses = new Pauses()
    const times = Array.from({ length: 12 }, () => pauses.after(error))
    expect(times).toEqual(times.map((_, index) => Math.min(50 * 2 ** index, mostMs)))
    pauses.reset()
    expect(pauses.after(error)).toBe(50)
  })

test('a database that refused for long and is away then is asked again soon', () => {
  const pauses = new Pauses()
  for (let times = 0; times < 12; times++) pauses.after(fromPostgres('42501'))
  expect(pauses.after(withCode('ECONNREFUSED'))).toBe(500)
})
