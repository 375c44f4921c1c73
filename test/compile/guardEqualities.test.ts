import { expect, test } from 'bun:test'
import { compileRowComparisons } from '../../src/compile/comparisons.ts'
import { compileCreate } from '../../src/compile/create.ts'
import { checkedGuard } from '../../src/compile/guard.ts'
import { shapeOf } from '../../src/compile/parts.ts'
import { compileUpdate } from '../../src/compile/update.ts'
import type { Guard } from '../../src/model/access.ts'
import {
  boolean,
  date,
  decimal,
  defineEntity,
  type Entity,
  identity,
  instant,
  integer,
  oneOf,
  type Property,
  text,
} from '../../src/model/entity.ts'
import { equalityHolds, isEquality } from '../../src/model/equalities.ts'
import { operators } from '../../src/model/operators.ts'
import type { Assignments, Filter } from '../../src/model/query.ts'
import { arrayText } from '../../src/model/sql.ts'
import { wholeView } from '../../src/model/view.ts'
import { addFilter, parseFilter } from '../../src/parse/filter.ts'
import { parseQueryString } from '../../src/parse/parameters.ts'
import { RightsReader } from '../../src/rights/reader.ts'
import { useDatabase } from '../support/database.ts'
import { entities } from '../support/entities.ts'
import { Random } from '../support/random.ts'

const { poolOf } = useDatabase()
const database = poolOf()
const company = entities.find(({ name }) => name === 'Company') as Entity
const property = (name: string) => company.properties.find((one) => one.name === name) as Property

function filtersOf(query: string): Filter[] {
  const filters: Filter[] = []
  for (const parameter of parseQueryString(query)) addFilter(filters, parseFilter(wholeView(company), parameter))
  return filters
}

function guardOf(before: string, after: string, readable: string): Guard {
  const pair = { before: filtersOf(before), after: filtersOf(after) }
  const shape = [pair.before, pair.after, filtersOf(readable)].map((filters) => shapeOf(filters)).join('|')
  return { pairs: [pair], references: new Map(), readable: filtersOf(readable), shape }
}

const row = (name: string | null, isEnabled: string): Assignments =>
  new Map([
    [property('Name'), name],
    [property('Enabled'), isEnabled],
  ])
const plan = (values: Assignments, guard: Guard | null) => ({ id: '7', values, versions: null, claim: null, keyId: 'a', guard })

test.each([
  ['Enabled=true', 'Name=!=Archived'],
  ['Enabled=!=false&Name[]=Bench&Name[]=', 'Enabled=true'],
  ['Name=!=', ''],
])('a write that matches the equalities of its right has a statement without a guard: %s, read %s', (after, readable) => {
  const guard = guardOf('', after, readable)
  for (const compile of [compileCreate, compileUpdate]) {
    const compiled = compile(company, plan(row('Bench', 'true'), guard))
    expect(compiled).toEqual(compile(company, plan(row('Bench', 'true'), null)))
  }
})

test.each([
  ['a value that does not match', 'Enabled=true', '', row('Bench', 'false')],
  ['a value that is not set', 'Enabled=true', '', new Map([[property('Name'), 'Bench']])],
  ['an order of texts', 'Name=<C', '', row('Bench', 'true')],
  ['a part of a text', 'Name[contains]=en', '', row('Bench', 'true')],
  ['an order of ids in the right to read', '', 'Id=>5', row('Bench', 'true')],
])('the statement of a write still checks %s', (_, after, readable, values) => {
  const guard = guardOf('', after, readable)
  const update = compileUpdate(company, plan(values, guard))
  const filters = [...filtersOf(after), ...filtersOf(readable)]
  expect(update.values.slice(0, -1)).toContain(filters[0]?.value as string)
  expect(update.text).not.toBe(compileUpdate(company, plan(values, null)).text)
})

test('the statement of a write keeps conditions on the old row, and all conditions if one of several new rows does not match', () => {
  const guard = guardOf('Name=Own', 'Enabled=true', 'Enabled=true')
  const [matching, other] = [row('Own', 'true'), row('Own', 'false')]
  expect(checkedGuard(company, guard, [matching])?.pairs).toEqual([{ before: filtersOf('Name=Own'), after: [] }])
  expect(checkedGuard(company, guard, [matching, matching])).toBe(checkedGuard(company, guard, [matching]))
  expect(checkedGuard(company, guard, [matching, other])?.pairs).toEqual(guard.pairs)
  expect(checkedGuard(company, guard, [matching, other])?.shape).not.toBe(checkedGuard(company, guard, [matching])?.shape)
})

test('the statement of a write needs no condition if the new row matches one of two alternatives', () => {
  const either = { ...guardOf('', 'Enabled=true', ''), shape: 'either' }
  const guard = { ...either, pairs: [...either.pairs, { before: [], after: filtersOf('Name=Own') }] }
  for (const admitted of [row('Own', 'true'), row('Own', 'false'), row('Other', 'true')])
    expect(checkedGuard(company, guard, [admitted])).toBeNull()
  expect(checkedGuard(company, guard, [row('Other', 'false')])?.pairs).toEqual(guard.pairs)
  // What the write surely fails is left out.
  const disabled = checkedGuard(company, guard, [new Map([[property('Enabled'), 'false']])])
  expect(disabled?.pairs).toEqual([{ before: [], after: filtersOf('Name=Own') }])
  expect(checkedGuard(company, guard, [new Map([[property('Enabled'), 'false']])])).toBe(disabled)
  const rows = [row('Own', 'false'), row('Other', 'true')]
  expect(checkedGuard(company, guard, rows)?.pairs).toEqual(guard.pairs)
})

test('a create by equalities needs no condition in its statement, except for a reference in the body', () => {
  const addresses = 'read Companies?Name=!=Archived\ncreate Companies?Enabled=true&fields=Name,Enabled'
  const rights = new RightsReader(entities).read({ rights: '', addresses })
  const guard = rights.accessTo(company).create?.rights[0]?.guard ?? null
  expect(guard).not.toBeNull()
  expect(checkedGuard(company, guard, [row('Bench', 'true')])).toBeNull()

  const absence = entities.find(({ name }) => name === 'Absence') as Entity
  const requests = 'read Employees?Status=Current\ncreate Absences?Status[]=New&Status[]=Old&fields=EmployeeId,Status'
  const ofRequests =
    new RightsReader(entities).read({ rights: '', addresses: requests }).accessTo(absence).create?.rights[0]?.guard ?? null
  const status = absence.properties.find(({ name }) => name === 'Status') as Property
  const left = checkedGuard(absence, ofRequests, [new Map([[status, 'New']])])
  expect([left?.pairs, left?.references]).toEqual([[{ before: [], after: [] }], ofRequests?.references])
  expect(left?.references.size).toBe(1)
})

/** An entity of every kind of property. */
const kinds = defineEntity('Thing', {
  id: identity(),
  text: text(),
  code: oneOf(['a', 'A', 'b b', 'é']),
  flag: boolean(),
  count: integer({ min: -1000, max: 9007199254740991 }),
  day: date(),
  at: instant(),
  share: decimal(8),
})

/** By property: values of bodies, and operands of filters that are these values in other notations, or other values. */
const VALUES: Readonly<Record<string, readonly [values: readonly string[], operands: readonly string[]]>> = {
  Text: [
    ['', ' ', 'a', 'A', 'á', 'a\u0301', 'a ', 'ß', 'ss', 'Zoë', '\ufeffa', 'ﬁ', '😀', "a'b", 'a"b', 'a\\b', '{,}', 'null', '\n'],
    ['b', 'ZOË', 'NULL', '\\'],
  ],
  Code: [['a', 'A', 'b b', 'é'], []],
  Flag: [
    ['true', 'false'],
    ['TRUE', 'False'],
  ],
  Count: [
    ['0', '-1', '7', '5000', '9007199254740991'],
    ['-0', '007', '-01', '9007199254740992', '9'.repeat(30), `-${'9'.repeat(30)}`],
  ],
  Day: [['0001-01-01', '2024-02-29', '2024-01-31', '9999-12-31'], ['2024-02-28']],
  At: [
    ['0001-01-01T00:00:00Z', '2024-01-31T09:00:00Z', '2024-01-31T09:00:01Z', '9999-12-31T23:59:59Z'],
    ['2024-01-31T10:00:00+01:00', '2024-01-31t09:00:00.999z', '2024-01-31T08:59:59Z'],
  ],
  Share: [
    ['0', '3', '0.1', '1.5', '1.50000001', '9999999999', '9999999999.99999999', '0.00000001'],
    ['-0', '0.000', '300.0e-2', '0.3e1', '1.500000010', '1.500000011', '1e-8', '1e-9', '-1', '1e100', '99999999999.99999999'],
  ],
}
const EQUALITIES = operators.filter((operator) => isEquality({ operator }))
const FILTERS = 300

test('equalities are decided as by PostgreSQL, for random filters by every kind of property', async () => {
  expect(EQUALITIES.map(({ sign }) => sign)).toEqual(['=', '!=', '[]'])
  const random = new Random(90)
  for (const [name, [given, spellings]] of Object.entries(VALUES)) {
    const one = kinds.properties.find((candidate) => candidate.name === name) as Property
    const values = [null, ...given]
    const array = arrayText(values)
    const select = `select v from unnest($1::${one.kind.columnType}[]) with ordinality as t (v, n) order by n`
    const printed = (await database.read({ text: select, values: [array] })).map(([value]) => value ?? null)
    let held = 0
    for (let count = 0; count < FILTERS; count++) {
      const filter = drawEquality(one, random, ['', ...given, ...spellings])
      const guard: Guard = { pairs: [{ before: [], after: [filter] }], references: new Map(), readable: null, shape: '' }
      const refused = await database.read(compileRowComparisons([one], [array], guard, values.length))
      const expected = values.map((_, index) => !refused.some(([number]) => Number(number) === index + 1))
      const decided = values.map((value) => checkedGuard(kinds, guard, [new Map([[one, value]])]) === null)
      const message = `${name} ${filter.operator.sign} ${filter.value}`
      expect([message, ...decided]).toEqual([message, ...expected])
      expect([message, ...printed.map((value) => equalityHolds(filter, value))]).toEqual([message, ...expected])
      held += expected.filter(Boolean).length
    }
    expect(held).toBeGreaterThan(FILTERS)
    expect(held).toBeLessThan(FILTERS * (values.length - 1))
  }
})

/** Draws a filter by equality with one of the operands, or with several. */
function drawEquality(one: Property, random: Random, operands: readonly string[]): Filter {
  const { sign, isAny } = random.pick(EQUALITIES)
  const filters: Filter[] = []
  const [name, before] = isAny ? [one.name + sign, ''] : [one.name, sign === '=' ? '' : sign]
  for (let left = isAny ? 1 + random.below(4) : 1; left > 0; left--)
    addFilter(filters, parseFilter(wholeView(kinds), { name, value: before + random.pick(operands), raw: '' }))
  return filters[0] as Filter
}
