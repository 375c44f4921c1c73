import { beforeEach, describe, expect, spyOn, test } from 'bun:test'
import type postgres from 'postgres'
import { FlagWriter, type InFlightWrite } from '../../src/changes/inFlight.ts'
import { ChangeLogWriter } from '../../src/changes/log.ts'
import { ChangePublisher } from '../../src/changes/publisher.ts'
import { tableMask } from '../../src/changes/recorder.ts'
import { Slices } from '../../src/columns/slices.ts'
import { TableCopy } from '../../src/columns/tableCopy.ts'
import { TableReader } from '../../src/columns/tableReader.ts'
import absence from '../../src/entities/absence.ts'
import { loadEntities } from '../../src/registry.ts'
import { type ListProcess, ListSite, totalOf, useListSite } from '../support/listSite.ts'
import { until } from '../support/process.ts'
import { Random } from '../support/random.ts'
import { firstSeed, rounds } from '../support/rounds.ts'

const ROWS = 4_000
const ROUNDS = rounds(150, 1_000)
const TIMEOUT_MS = 120_000
const COUNT = /count\(\*\)/
const BY_IDS = /any \(\$1::text::bigint\[\]\)/

const used = useListSite(
  { company: 20, employee: 40, absence: ROWS },
  (sql) => sql`analyze`,
  16 * 2 ** 20,
  64 * 2 ** 20,
)
let sql: postgres.Sql
let site: ListSite
let one: ListProcess
let other: ListProcess
beforeEach(() => {
  ;({ sql, site } = used)
  ;[one, other] = site.processes
})

const expectRight = (process: ListProcess, path: string) => site.expectRight(process, path)

let fresh = 0
/** A list that was never asked before, of some hundreds of rows. */
const never = () => `/Absences?Period.Hours=>=${(100 + ++fresh / 1_000_000).toFixed(6)}&Status=Status 1&sort=-Start`

/** Whether the process answers such a list by columns, with its rows or with their ids. */
async function isByColumns(process: ListProcess): Promise<boolean> {
  const texts = await process.readingOf(() => process.list(never()))
  return texts.every((text) => BY_IDS.test(text))
}
const untilByColumns = (process: ListProcess) => until(() => isByColumns(process))

/** A write of absences that is on its way, and that no snapshot here sees: no list waits for it. */
async function beginUnseen(): Promise<InFlightWrite> {
  const write = new FlagWriter(site.region, 2).begin(tableMask(await loadEntities(), [absence]))
  write.identify(1_000_000_000)
  return write
}

describe('a table is read into columns', () => {
  test('once its lists have cost more than that; from then on they are counted there', async () => {
    expect(await isByColumns(one)).toBe(false)
    await untilByColumns(one)
    const texts = await one.readingOf(() => expectRight(one, never()))
    expect(texts.filter((text) => COUNT.test(text))).toEqual([])
  })

  test('at once, where it is asked to be', async () => {
    await one.loadColumns()
    expect(await isByColumns(one)).toBe(true)
    expect(await isByColumns(other)).toBe(false)
  })
})

describe('a table of which lists ask for ranges', () => {
  let asked = 0
  /** Never asked before, of one day in some years. */
  const range = (sort: string) => {
    const second = String(++asked % 60).padStart(2, '0')
    const day = `${2015 + (asked % 10)}-0${1 + (asked % 9)}-${10 + (asked % 17)}`
    return `/Absences?Start=>=${day}T00:00:${second}Z&Start=<${day.slice(0, 7)}-28T00:00:${second}Z&sort=${sort}`
  }

  test('lies by that property, too, once such lists have cost more than that', async () => {
    await one.loadColumns()
    await untilByColumns(one)
    const before = one.columnBytes
    await until(async () => {
      await one.list(range('-Start'))
      return one.columnBytes > 1.2 * before
    })
    const whole = one.columnBytes
    for (const sort of ['-Start', 'Start', 'Employee,-Id', 'Period.Days,-Reason']) await expectRight(one, range(sort))
    const { body } = await other.write('create', '/Absences', { Start: '2019-05-20T08:00:00Z' })
    const path = '/Absences?Start=>=2019-05-20T08:00:00Z&Start=<2019-05-20T08:00:01Z'
    expect(totalOf(await one.list(path))).toBe(1)
    await other.write('patch', `/Absences/${body.id}`, { Start: '2024-05-20T08:00:00Z' })
    expect(totalOf(await one.list(`${path}&sort=-Id`))).toBe(0)
    expect(totalOf(await one.list(path.replaceAll('2019', '2024')))).toBe(1)
    await other.write('remove', `/Absences/${body.id}`)
    expect(totalOf(await one.list(path.replaceAll('2019', '2024')))).toBe(0)
    expect(one.columnBytes).toBeGreaterThanOrEqual(whole)
  })
})

describe('a list by columns', () => {
  beforeEach(() => Promise.all(site.processes.map((process) => process.loadColumns())))

  test.each(['/Absences', '/Absences?sort=Start', '/Absences?sort=-Id'])(
    'is not what the first page of all rows is, which an index has: %s',
    async (path) => {
      const texts = await one.readingOf(() => expectRight(one, path))
      expect(texts.filter((text) => COUNT.test(text) || BY_IDS.test(text))).toEqual([])
    },
  )

  test('that no row matches is empty, and so is a page behind the last', async () => {
    for (const path of ['/Absences?Status=None such', '/Absences?Status=Status 1&page=999999']) {
      const texts = await one.readingOf(() => expectRight(one, path))
      expect(texts.filter((text) => COUNT.test(text))).toEqual([])
    }
  })

  test('has its rows from there too, without a question to the database', async () => {
    for (const path of [never(), `${never()}&page=3`, '/Absences?Status=Status 1&sort=Employee,-Reason&page=4'])
      await expectRight(one, path)
    for (const path of [never(), `${never()}&page=3`, `${never()}&PageSize=50`])
      expect(await one.readingOf(() => expectRight(one, path))).toEqual([])
  })

  test('that arrives with equal ones is found once for all', async () => {
    const pages = spyOn(TableCopy.prototype, 'page')
    try {
      const path = never()
      const bodies = await Promise.all(Array.from({ length: 8 }, async () => (await one.list(path)).body))
      expect(pages).toHaveBeenCalledTimes(1)
      expect(new Set(bodies.map((body) => String(body))).size).toBe(1)
    } finally {
      pages.mockRestore()
    }
  })

  test('takes no more of a turn of the event loop than there is for lists, however many have arrived together', async () => {
    let turn = 0
    const turns: number[] = []
    const { note } = Slices.prototype
    const noted = spyOn(Slices.prototype, 'note').mockImplementation(function (this: Slices) {
      turns.push(turn)
      note.call(this, 5)
    })
    const immediate = () => {
      turn++
      if (turns.length < 24) setImmediate(immediate)
    }
    setImmediate(immediate)
    try {
      await Promise.all(Array.from({ length: 12 }, () => one.list(never())))
      // Each notes its total and its page, and either takes more than a turn has.
      expect(turns).toHaveLength(24)
      expect(new Set(turns).size).toBeGreaterThanOrEqual(12)
    } finally {
      noted.mockRestore()
    }
  })

  test('has its rows from there while a write of its table is in flight that was sent behind all others', async () => {
    await other.write('patch', '/Absences/21', { Reason: `Before ${++fresh}` })
    const write = await beginUnseen()
    expect(await one.readingOf(() => expectRight(one, never()))).toEqual([])
    write.end()
  })

  test('has its rows from the database while a write is in flight that may have committed before another one', async () => {
    const write = await beginUnseen()
    await other.write('patch', '/Absences/21', { Reason: `Behind ${++fresh}` })
    const texts = await one.readingOf(() => expectRight(one, never()))
    expect(texts.map((text) => BY_IDS.test(text))).toEqual([true])
    const later = await beginUnseen()
    expect(await one.readingOf(() => expectRight(one, never()))).not.toEqual([])
    write.end()
    expect(await one.readingOf(() => expectRight(one, never()))).toEqual([])
    later.end()
    expect(await one.readingOf(() => expectRight(one, never()))).toEqual([])
  })

  test('shows a write that the columns were read behind only once no process can be without it', async () => {
    await other.write('patch', '/Absences/21', { Reason: `Published ${++fresh}` })
    const flag = new FlagWriter(site.region, 2).begin(tableMask(await loadEntities(), [absence]))
    await sql`update absence set period_hours = 7500 where id = 22`
    await one.loadColumns()
    const path = '/Absences?Period.Hours=7500&sort=-Start'
    expect(totalOf(await one.list(path))).toBe(1)
    expect(totalOf(await other.list(path))).toBe(1)
    flag.end()
    await sql`update absence set period_hours = null where id = 22`
  })

  test('has its rows from the database while half of what others have committed together is known', async () => {
    const rows = await sql`update absence set status = 'Status 1', period_hours = 9000 where id in (11, 12)
      returning id, pg_current_xact_id()::text as transaction`
    const publisher = new ChangePublisher(new ChangeLogWriter(site.region, 2), site.region)
    const [{ transaction }] = rows as unknown as [{ transaction: string }]
    const change = { transaction: Number(transaction), before: null, after: null }
    publisher.publishForeign('employee', change, false)
    expect(await one.readingOf(() => one.list(never()))).not.toEqual([])
    publisher.publishReset('absence')
    publisher.publishReset('employee')
    expect(await one.readingOf(() => one.list(never()))).not.toEqual([])
    publisher.publishForeign('employee', change, true)
    await until(async () => (await one.readingOf(() => expectRight(one, never()))).length === 0)
    await sql`update absence set period_hours = null where id in (11, 12)`
  })

  test('shows a write that another process has answered', async () => {
    const path = never()
    const total = totalOf(await one.list(path))
    const { body } = await other.write('create', '/Absences', { Status: 'Status 1', Period: { Hours: 5000 } })
    expect(totalOf(await one.list(never()))).toBe(total + 1)
    await other.write('patch', `/Absences/${body.id}`, { Status: 'Status 2' })
    expect(totalOf(await one.list(never()))).toBe(total)
    await other.write('remove', `/Absences/${body.id}`)
    await expectRight(one, never())
  })

  test('has the right rows where another process writes between the look and the question', async () => {
    // While such a write is in flight, and others are published, rows are read from the database.
    const beside = await beginUnseen()
    const { body } = await other.write('create', '/Absences', { Status: 'Status 1', Period: { Hours: 6000 } })
    for (const write of [
      () => other.write('patch', `/Absences/${body.id}`, { Status: 'Status 1', Start: '2031-01-01T00:00:00Z' }),
      () => other.write('create', '/Absences', { Status: 'Status 1', Period: { Hours: 6001 } }),
      () => other.write('remove', `/Absences/${body.id}`),
    ]) {
      const path = `/Absences?Period.Hours=>5999.${++fresh}&Status=Status 1&sort=-Start`
      one.database.instead(BY_IDS, async (read) => {
        await write()
        return read()
      })
      await expectRight(one, path)
      expect(one.database.isWaiting).toBe(false)
    }
    beside.end()
    await sql`delete from absence where period_hours > 5999`
  })

  test('is in its order where a row of it was changed elsewhere, of which nothing is known yet', async () => {
    const beside = await beginUnseen()
    const make = (day: number) =>
      other.write('create', '/Absences', {
        Status: 'Status 1',
        Start: `2031-01-0${day}T00:00:00Z`,
        Period: { Hours: 6500 },
      })
    const [{ body }] = [await make(1), await make(2), await make(3)]
    one.database.instead(BY_IDS, async (read) => {
      await sql.begin(async (unheard) => {
        await unheard`set local session_replication_role = replica`
        await unheard`update absence set start = '2031-01-09' where id = ${body.id}`
      })
      return read()
    })
    await expectRight(one, '/Absences?Period.Hours=6500&Status=Status 1&sort=Start')
    expect(one.database.isWaiting).toBe(false)
    beside.end()
    await sql`delete from absence where period_hours = 6500`
  })

  test('comes from the database while the lease has run out', async () => {
    site.deafen()
    await sql`insert into absence (status, period_hours) values ('Status 1', 7000)`
    const texts = await one.readingOf(() => expectRight(one, never()))
    expect(texts.some((text) => BY_IDS.test(text))).toBe(false)
    await sql`delete from absence where period_hours = 7000`
  })
})

describe('a copy that has lost track', () => {
  beforeEach(() => one.loadColumns())

  test('by a rename is refreshed with the rows that it changed', async () => {
    await one.write('patch', '/Employees/5', { LastName: `Renamed ${++fresh}` })
    await untilByColumns(one)
    await expectRight(one, `/Absences?Employee=First 155 Middle 5 Renamed ${fresh}`)
    for (const sort of ['Employee', '-Employee,Start'])
      await expectRight(one, `${never()}&page=2`.replace('-Start', sort))
  })

  test('is refreshed once, before the lists that find it so, and asks nothing else of the database for them', async () => {
    const refresh = spyOn(TableReader.prototype, 'since')
    try {
      new ChangePublisher(new ChangeLogWriter(site.region, 2), site.region).publishReset('absence')
      const together = Array.from({ length: 20 }, (_, at) => `${never()}&page=${1 + (at % 3)}`)
      const texts = await one.readingOf(() => Promise.all(together.map((path) => one.list(path))))
      expect(refresh).toHaveBeenCalledTimes(1)
      expect(texts).toEqual([])
      for (const path of together) await expectRight(one, path)
    } finally {
      refresh.mockRestore()
    }
  })

  test('and cannot be refreshed soon is of no use to a list, which asks the database for nothing but itself', async () => {
    const never = spyOn(TableReader.prototype, 'since').mockReturnValue(new Promise(() => undefined))
    try {
      new ChangePublisher(new ChangeLogWriter(site.region, 2), site.region).publishReset('absence')
      await one.list('/Absences?Status=Status 3&sort=-Start')
      const texts = await one.readingOf(() => expectRight(one, '/Absences?Status=Status 3&sort=-Type'))
      expect(never).toHaveBeenCalledTimes(1)
      expect(texts).toHaveLength(1)
    } finally {
      never.mockRestore()
    }
  })

  test('by a write in silence is refreshed when a change has waited for that in vain', async () => {
    const none = absence.properties.slice(2).map(() => null)
    const change = { transaction: 1_000_000_000, before: ['31', 'Silent', ...none], after: ['31', 'Heard', ...none] }
    new ChangePublisher(new ChangeLogWriter(site.region, 2), site.region).publishForeign('absence', change)
    expect(await isByColumns(one)).toBe(false)
    await untilByColumns(one)
    await expectRight(one, never())
    expect(totalOf(await one.list('/Absences?Status=Heard'))).toBe(0)
  })

  test('is loaded anew where rows were deleted meanwhile', async () => {
    const { body } = await one.write('create', '/Absences', { Status: 'Status 1', Period: { Hours: 8000 } })
    await untilByColumns(one)
    site.deafen()
    await sql`delete from absence where id = ${body.id}`
    site.hearAgain()
    await untilByColumns(one)
    expect(totalOf(await one.list('/Absences?Period.Hours=8000&Status=Status 1'))).toBe(0)
  })
})

test(
  'where not all tables fit, those have memory that are asked for most, and the others are counted by the database',
  async () => {
    // For one table, and not for two.
    const narrow = new ListSite(used.url, 16 * 2 ** 20, 8 * 2 ** 20)
    const [process] = narrow.processes
    let never = 0
    const isByColumns = async (path: string) => {
      const texts = await process.readingOf(() => process.list(`${path}${++never}`))
      return texts.every((text) => BY_IDS.test(text))
    }
    const [absences, employees] = ['/Absences?Period.Hours=>0.000', '/Employees?Id=>=0&LastName=!=']
    try {
      await until(() => isByColumns(absences))
      for (let turn = 0; turn < 40; turn++) await isByColumns(employees)
      expect([await isByColumns(absences), await isByColumns(employees)]).not.toEqual([true, true])
      await until(() => isByColumns(employees))
      expect(await isByColumns(absences)).toBe(false)
    } finally {
      await narrow.end()
    }
  },
  TIMEOUT_MS,
)

test(
  'a table whose texts have grown beyond the memory is given up, and its lists are right',
  async () => {
    const narrow = new ListSite(used.url, 2 ** 20, 4 * 2 ** 20)
    const [process] = narrow.processes
    let most = 0
    try {
      await process.loadColumns()
      const text = () =>
        Array.from({ length: 3 }, () => crypto.randomUUID())
          .join()
          .slice(0, 100)
      const { body } = await process.write('create', '/Absences', { Status: 'grown' })
      await until(async () => {
        const writes = Array.from({ length: 20 }, () =>
          process.write('patch', `/Absences/${body.id}`, {
            Reason: text(),
            Type: text(),
            Period: { Prefered: text() },
          }),
        )
        await Promise.all(writes)
        await process.list(never())
        const fell = process.columnBytes < most
        most = Math.max(most, process.columnBytes)
        return fell
      })
      expect(most).toBeLessThan(6 * 2 ** 20)
      await expectRight(process, '/Absences?Status=grown')
      await process.write('remove', `/Absences/${body.id}`)
    } finally {
      await narrow.end()
    }
  },
  TIMEOUT_MS,
)

test('a table that does not fit is counted by the database', async () => {
  const small = new ListSite(used.url, 16 * 2 ** 20, 2 ** 20)
  try {
    await small.processes[0].loadColumns()
    const path = never()
    const texts = await small.processes[0].readingOf(() => small.processes[0].list(path))
    expect(texts.some((text) => COUNT.test(text))).toBe(true)
  } finally {
    await small.end()
  }
})

test(
  'lists equal PostgreSQL’s answers after any writes of this machine and others',
  async () => {
    await Promise.all(site.processes.map((process) => process.loadColumns()))
    const random = new Random(15 + firstSeed)
    const instant = () => `20${15 + random.below(11)}-0${1 + random.below(9)}-1${random.below(10)}T00:00:00Z`
    const conditions = [
      () => `Status=${random.pick(['', '!='])}Status ${random.below(6)}`,
      () => `Start=>=${instant()}`,
      () => `Start=>=${2015 + random.below(11)}-01-01T00:00:0${random.below(10)}Z&Start=<2026-01-01T00:00:00Z`,
      () => `Period.Days=>=${random.below(20)}&Period.Days=<${20 + random.below(20)}.5`,
      () => `End=<${instant()}`,
      () => `Period.Hours=>${random.below(1_300)}`,
      () => `Period.Days=<=${random.below(40)}`,
      () => `Reason=${random.pick(['=', '>', '<=', '!='])}Reason ${random.below(999)}`,
      () => `Employee=${random.pick(['>=', '<'])}First ${random.below(99)}`,
      () => `EmployeeId=!=${1 + random.below(40)}`,
      () => `Period.Prefered=`,
    ]
    const sorts = [
      '',
      '-Start',
      'Status',
      'Period.Days,-Start',
      '-Employee',
      'Reason,-Period.Hours',
      '-Id',
      'End,-Type',
    ]
    const created: string[] = []
    const write = async () => {
      const process = random.pick(site.processes)
      const id = random.chance(50) && created.length > 0 ? random.pick(created) : `${1 + random.below(ROWS)}`
      const values = { Status: `Status ${random.below(5)}`, Start: instant(), Reason: `Reason ${random.below(2_000)}` }
      if (random.chance(30)) created.push(`${(await process.write('create', '/Absences', values)).body.id}`)
      else if (random.chance(20)) await process.write('remove', `/Absences/${created.pop() ?? 'x'}`).catch(() => null)
      else if (random.chance(3)) await process.write('patch', '/Employees/7', { LastName: `Last ${random.below(99)}` })
      else await process.write('patch', `/Absences/${id}`, values).catch(() => null)
    }
    let byColumns = 0
    for (let round = 0; round < ROUNDS; round++) {
      if (random.chance(50)) await Promise.all(Array.from({ length: 1 + random.below(4) }, write))
      const filters = Array.from({ length: random.below(4) }, () => random.pick(conditions)()).join('&')
      const path = `/Absences?${filters}&sort=${random.pick(sorts)}&page=${1 + random.below(random.pick([2, 50]))}`
      const process = random.pick(site.processes)
      const texts = await process.readingOf(() => expectRight(process, path))
      if (texts.every((text) => BY_IDS.test(text))) byColumns++
    }
    expect(byColumns).toBeGreaterThan(ROUNDS / 4)
  },
  TIMEOUT_MS,
)
