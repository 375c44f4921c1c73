import { afterAll, beforeAll, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { ListReads } from '../../src/execute/listReads.ts'
import { TableCopies } from '../../src/memory/tableCopies.ts'
import type { GrantedRights } from '../../src/model/access.ts'
import type { BatchableStatement } from '../../src/model/batch.ts'
import type { Entity } from '../../src/model/entity.ts'
import type { RightsNow } from '../../src/model/principal.ts'
import type { Filter } from '../../src/model/query.ts'
import type { RowQuestions } from '../../src/model/rowQuestions.ts'
import type { Row } from '../../src/model/sql.ts'
import { wholeView } from '../../src/model/view.ts'
import { CurrentRights } from '../../src/operations/currentRights.ts'
import { DatabaseQuestions } from '../../src/operations/databaseQuestions.ts'
import { RightsChanged, RightsMoment, withRightsOfNow } from '../../src/operations/momentRights.ts'
import { parseFilter } from '../../src/parse/filter.ts'
import { useDatabase } from '../support/database.ts'
import { entities } from '../support/entities.ts'
import { setManager } from '../support/people.ts'
import { quietLog } from '../support/quietLog.ts'
import { Random } from '../support/random.ts'
import { randomFilter } from '../support/randomFilter.ts'
import { wholeRights } from '../support/rights.ts'
import { fill, randomRows, rowOf } from '../support/rightsPairsRows.ts'
import { firstSeed, rounds } from '../support/rounds.ts'

// D106: questions about rows from which the rights of persons follow, answered from memory and from PostgreSQL.

const own = useDatabase()
const database = own.poolOf()
const listPool = own.poolOf()
const listReads = new ListReads({ sharedPool: database, listPool, connections: 2, mayCancel: true })
const employee = entities.find(({ table }) => table === 'employee') as Entity
const absence = entities.find(({ table }) => table === 'absence') as Entity

let memory: TableCopies
beforeAll(() => {
  const questions = own.poolOf()
  memory = new TableCopies({
    database,
    questions,
    jointQuestions: own.poolOf(),
    bytesMax: 2 ** 26,
    url: own.url,
    log: quietLog({}),
  })
})
afterAll(() => memory.end())

const untilLoaded = async (tables: readonly Entity[]) => {
  for (const table of tables) memory.load(table)
  while (memory.allOf(tables) === null) await Bun.sleep(5)
}

/** Parses filters as a roles file has them: `WorkEmail=x`. */
const filtersOf = (entity: Entity, query: string): Filter[] =>
  query.split('&').map((part) => {
    const [name = '', value = ''] = part.split(/=(.*)/s)
    return parseFilter(wholeView(entity), { name, value, raw: '' })
  })

/** Rights that follow from the answers to questions, as text. */
type Decide = (questions: RowQuestions, claims: Readonly<Record<string, unknown>>) => unknown

/** Rights of a person whose text is what `decide` returns. */
function rightsBy(decide: Decide, withMemory = true, sources: readonly Entity[] = [employee]): CurrentRights {
  const granted = (answer: unknown): GrantedRights =>
    Object.assign(Object.create(wholeRights(entities)), { text: String(answer) })
  return new CurrentRights({
    memory: withMemory ? memory : null,
    listReads,
    roles: {
      sources,
      rightsOf(claims, questions) {
        const answer = decide(questions, claims)
        return answer instanceof Promise ? answer.then(granted) : granted(answer)
      },
    },
  })
}

const textOf = async (rights: CurrentRights, claims: Readonly<Record<string, unknown>> = {}, reads: readonly Entity[] = []) =>
  (await rights.of(claims, true, reads)).rights.text

describe('questions about rows, on whose answers rights depend,', () => {
  const random = new Random(firstSeed)
  const rows = randomRows(random, entities)

  beforeAll(async () => {
    await fill(own.sql, rows)
    await untilLoaded(entities)
  })

  test('get the same answers from memory as from PostgreSQL, with random filters', async () => {
    let asked: readonly [Entity, readonly Filter[]] = [employee, []]
    const ask: Decide = async (questions) => {
      const [only, some] = await Promise.all([questions.only(...asked), questions.some(...asked)])
      return JSON.stringify([only, some])
    }
    const [fast, slow] = [rightsBy(ask), rightsBy(ask, false)]
    const seen = new Set<string>()
    for (let left = rounds(150, 3_000); left > 0; left--) {
      const entity = random.pick(entities)
      const ids = [...(rows.get(entity)?.keys() ?? [])]
      const near = (index: number) => () => rowOf(rows, entity, random.pick(ids))[index] ?? null
      const properties = random.times(3, () => random.pick(entity.properties))
      const filters = [...new Set(properties)].map((property) =>
        randomFilter(entity, property, random, near(entity.properties.indexOf(property))),
      )
      asked = [entity, filters]
      const [one, other] = await Promise.all([textOf(fast, {}), textOf(slow, {})])
      expect(one).toBe(other)
      seen.add(one.startsWith('[null') ? one : 'a row')
    }
    expect([...seen].sort()).toEqual(['[null,false]', '[null,true]', 'a row'])
  })

  test.each([
    [absence, 'EmployeeId.ManagerId=2'],
    [absence, 'EmployeeId.ManagerId[under]=2&Status=Approved'],
    [absence, 'EmployeeId.CompanyId.Name='],
    [employee, 'ManagerId[under]=3'],
  ])('get the same answers from memory as from PostgreSQL, by related properties: case %#', async (entity, query) => {
    const ask: Decide = async (questions) => JSON.stringify(await questions.some(entity, filtersOf(entity, query)))
    expect(await textOf(rightsBy(ask))).toBe(await textOf(rightsBy(ask, false)))
  })

  test('that ask at the same time whether rows exist share one statement', async () => {
    const sent: BatchableStatement[] = []
    const questions = new DatabaseQuestions(async (statement) => {
      sent.push(statement)
      return database.read(statement)
    })
    const answers = await Promise.all([
      questions.some(employee, filtersOf(employee, 'Id=>0')),
      questions.some(absence, filtersOf(absence, 'Id=<0')),
      questions.some(employee, []),
    ])
    expect([answers, sent.length, sent[0]?.batch == null]).toEqual([[true, false, true], 1, false])
    const only = await Promise.all([...Array(9).keys()].map((id) => questions.only(employee, filtersOf(employee, `Id=${id}`))))
    expect(only.map((row) => row?.[0] ?? null)).toEqual(
      [...Array(9).keys()].map((id) => (rows.get(employee)?.has(id) ? String(id) : null)),
    )
  })
})

describe('rights that memory decides', () => {
  const byMail: Decide = (questions, { email }) => {
    const me = questions.only(employee, filtersOf(employee, `WorkEmail=${email}`))
    const manages = (row: Row | null) => row && questions.some(employee, filtersOf(employee, `ManagerId=${row[0]}`))
    const told = (row: Row | null, manager: unknown) => `${row?.[0]} ${manager}`
    if (me instanceof Promise) return me.then(async (row) => told(row, await manages(row)))
    const manager = manages(me)
    return manager instanceof Promise ? manager.then((is) => told(me, is)) : told(me, manager)
  }

  beforeEach(async () => {
    await own.sql`delete from absence`
    await own.sql`delete from employee`
    await own.sql`
      insert into employee (id, work_email) overriding system value values (1, 'ann@x'), (2, 'bob@x'), (3, 'two@x'), (4, 'two@x')`
    await untilLoaded([employee, absence])
  })

  test('reflect every committed write, and are not decided again while no row changes', async () => {
    let decided = 0
    const rights = rightsBy((questions, claims) => {
      decided++
      return byMail(questions, claims)
    })
    const ann = { email: 'ann@x' }
    for (let left = 4; left > 0; left--) expect(await textOf(rights, ann)).toBe('1 false')
    expect(decided).toBe(1)
    await setManager(own.sql, 2, 1)
    expect(await textOf(rights, ann)).toBe('1 true')
    expect(decided).toBe(2)
    await own.sql`update employee set work_email = 'new@x' where id = 1`
    expect([await textOf(rights, ann), await textOf(rights, { email: 'new@x' })]).toEqual(['undefined null', '1 true'])
    await setManager(own.sql, 2, null)
    await own.sql`delete from employee where id = 1`
    expect(await textOf(rights, { email: 'new@x' })).toBe('undefined null')
    expect(await textOf(rights, { email: 'two@x' })).toBe('undefined null')
  })

  test('stay valid for refreshed copies until a change of rows leads to other rights', async () => {
    const rights = rightsBy(byMail)
    const ann = { email: 'ann@x' }
    const { moment } = await rights.of(ann, true, [absence])
    if (!(moment instanceof RightsMoment)) throw new Error('the rights are of no moment')
    expect(moment.copies.map(({ entity }) => entity)).toEqual([employee, absence])
    expect(moment.followFrom(moment.copies)).toBe(true)
    // A change of a row after which the same rights follow.
    await own.sql`update employee set title = 'x' where id = 2`
    await memory.refresh(moment.copies)
    expect(moment.followFrom(moment.copies)).toBe(true)
    await setManager(own.sql, 2, 1)
    await memory.refresh(moment.copies)
    expect(moment.followFrom(moment.copies)).toBe(false)
  })

  test('are as of one moment of the tables on which they depend, even if the listed table has no such moment', async () => {
    const versionOf = memory.versionOf.bind(memory)
    const apart = spyOn(memory, 'versionOf').mockImplementation((copies, part) =>
      copies.some(({ entity }) => entity === absence) ? null : versionOf(copies, part),
    )
    const { rights, moment } = await rightsBy(byMail).of({ email: 'ann@x' }, true, [absence])
    apart.mockRestore()
    expect(rights.text).toBe('1 false')
    expect(moment instanceof RightsMoment && moment.copies.map(({ entity }) => entity.name)).toEqual(['Employee'])
  })

  test('need only the claims, not PostgreSQL, if the roles depend on no rows', () => {
    const granted = rightsBy((_, { groups }) => groups, true, []).of({ groups: 'hr' }, true, [absence])
    expect((granted as RightsNow).rights.text).toBe('hr')
  })
})

describe('a request whose rights change before its rows are found', () => {
  const granted = wholeRights(entities)

  test('starts again with rights for all tables that it reads, until the rights do not change meanwhile', async () => {
    const asked: (readonly Entity[])[] = []
    const answer = await withRightsOfNow(
      [absence],
      (reads) => {
        asked.push(reads)
        return { rights: granted, moment: null }
      },
      () => {
        if (asked.length < 3) throw new RightsChanged([absence, employee])
        return 'found'
      },
    )
    expect([answer, asked]).toEqual(['found', [[absence], [absence, employee], [absence, employee]]])
  })

  test('gets 503 with Retry-After if its rights change again and again', async () => {
    let attempts = 0
    const answer = withRightsOfNow(
      [],
      () => ({ rights: granted, moment: null }),
      () => {
        attempts++
        return Promise.reject(new RightsChanged([]))
      },
    )
    const error = await answer.catch((caught: unknown) => caught)
    expect(error).toMatchObject({ code: 'ServiceUnavailable', headers: { 'Retry-After': '1' } })
    expect(attempts).toBe(3)
  })
})
