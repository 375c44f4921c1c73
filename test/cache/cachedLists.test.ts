import { beforeEach, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { FlagReader } from '../../src/changes/inFlight.ts'
import { ApiError } from '../../src/errors.ts'
import { type ListAnswer, type ListProcess, ListSite, totalOf, useListSite } from '../support/listSite.ts'
import { until } from '../support/process.ts'
import { Random } from '../support/random.ts'
import { firstSeed, rounds } from '../support/rounds.ts'

const ROWS = 6_000
const ROUNDS = rounds(150, 400)
const TIMEOUT_MS = 120_000
/** Of pages that take several times what they may. */
const LISTS = 1_000
/** A place in the list for which rows would have to be counted from either end. */
const DEEP_PAGE = 150
const COUNT = /count\(\*\)/

const used = useListSite({ company: 20, employee: 40, absence: ROWS }, async (sql) => {
  // Employee 2 has many absences, employee 3 has some, employee 4 none.
  await sql`update absence set employee_id = e.id, employee_key = e.display_name_key from employee e where e.id = 2`
  await sql`
    update absence set employee_id = e.id, employee_key = e.display_name_key
    from employee e where e.id = 3 and absence.id % 600 = 0`
})
let sql: postgres.Sql
let site: ListSite
let one: ListProcess
let other: ListProcess
beforeEach(() => {
  ;({ sql, site } = used)
  ;[one, other] = site.processes
})

const expectRight = (process: ListProcess, path: string) => site.expectRight(process, path)
const times = (pattern: RegExp, texts: readonly string[]) => texts.filter((text) => pattern.test(text)).length

async function failing(): Promise<never> {
  await Bun.sleep(5)
  throw new ApiError('ServiceUnavailable', 'away')
}

describe('what is asked of the database', () => {
  test('equal lists at once are one statement, and each answer has headers of its own', async () => {
    let answers: ListAnswer[] = []
    let size = 5
    // A machine that stands still for a moment puts the cache off for as long.
    await until(async () => {
      const path = `/Absences?Status=Status 1&PageSize=${size++}`
      const texts = await one.readingOf(async () => {
        answers = await Promise.all(Array.from({ length: 20 }, () => one.list(path)))
      })
      return texts.length === 1
    })
    expect(new Set(answers.map(({ headers }) => headers)).size).toBe(20)
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(totalOf(answers[0] as ListAnswer)).toBe(1_200)
  })

  test('a list that was answered is answered from the cache', async () => {
    const path = '/Absences?Status=Status 1&page=3'
    await one.list(path)
    expect(await one.readingOf(() => expectRight(one, path))).toEqual([])
  })

  test('a list is answered from the cache whatever Cache-Control and X-Roster-After say', async () => {
    const name = `kept ${crypto.randomUUID()}`
    const path = `/Companies?Name=${name}`
    expect(totalOf(await one.list(path))).toBe(0)
    await sql`insert into company (name) values (${name})`
    // Nothing is heard here of a write by other programs.
    expect(totalOf(await one.list(path, { 'Cache-Control': 'no-cache', 'X-Roster-After': 'x' }))).toBe(0)
    await sql`delete from company where name = ${name}`
  })

  test('other pages, sorts and sizes of the same rows are counted once, at the same time too', async () => {
    const paths = ['', '&sort=-Start', '&page=2', '&page=60', '&PageSize=50', '&sort=Reason&page=7'].map(
      (more) => `/Absences?Status=Status 2${more}`,
    )
    const texts = await one.readingOf(() => Promise.all(paths.map((path) => one.list(path))))
    expect(times(COUNT, texts)).toBe(1)
    for (const path of paths) await expectRight(one, path)
  })

  test('pages of a list whose total is known are one statement that counts nothing', async () => {
    await one.list('/Absences?sort=Period.Days')
    for (const page of [2, 20, 52, DEEP_PAGE, 290, 299, 300, 301, 9_999]) {
      const path = `/Absences?sort=Period.Days&page=${page}`
      const texts = await one.readingOf(() => one.list(path))
      expect([page, texts.length, times(COUNT, texts)]).toEqual([page, 1, 0])
      await expectRight(one, path)
    }
  })

  test('lists of one row are not kept, unless they are long', async () => {
    const asked = async (path: string, turns: number) => {
      const counts: number[] = []
      for (let turn = 0; turn < turns; turn++) counts.push((await one.readingOf(() => one.list(path))).length)
      return counts
    }
    expect(await asked('/Absences?EmployeeId=3', 4)).toEqual([1, 1, 1, 1])
    expect(await asked('/Absences?EmployeeId=4', 4)).toEqual([1, 1, 1, 1])
    expect(await asked('/Absences?EmployeeId=2', 4)).toEqual([1, 1, 0, 0])
    await expectRight(one, '/Absences?EmployeeId=2')
  })

  test('a list that waits for a count that fails counts by itself', async () => {
    one.database.instead(COUNT, failing)
    const [failed, ...others] = await Promise.allSettled(
      ['', '&page=2', '&sort=Start'].map((more) => one.list(`/Absences?Status=Status 3${more}`)),
    )
    expect(failed?.status).toBe('rejected')
    expect(others.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
    await expectRight(one, '/Absences?Status=Status 3')
  })
})

describe('what is answered', () => {
  test(
    'equals PostgreSQL’s answer for any list after any writes by this machine and others',
    async () => {
      const random = new Random(4 + firstSeed)
      const filters = ['', 'Status=Status 1', 'Status=!=Status 1', 'Status=>Status 2', 'Reason=', 'Period.Days=>=20']
      const sorts = ['', '-Start', 'Status', 'Period.Days,-Start', '-Employee', 'Id']
      const pages = [1, 1, 2, 3, 50, 60, 100, 149, 150, 200, 250, 299, 300, 301, 1_000]
      const created: string[] = []
      const write = async () => {
        const process = random.pick(site.processes)
        const id = random.chance(50) && created.length > 0 ? random.pick(created) : `${1 + random.below(ROWS)}`
        const start = `2020-01-${10 + random.below(20)}T00:00:00Z`
        if (random.chance(40)) {
          const { body } = await process.write('create', '/Absences', {
            Status: `Status ${random.below(4)}`,
            Start: start,
          })
          created.push(`${body.id}`)
        } else if (random.chance(30))
          await process.write('remove', `/Absences/${created.pop() ?? 'x'}`).catch(() => null)
        else await process.write('patch', `/Absences/${id}`, { Status: `Status ${random.below(4)}` }).catch(() => null)
      }
      let remembered = 0
      for (let round = 0; round < ROUNDS; round++) {
        if (random.chance(30)) await write()
        if (random.chance(2)) await one.write('patch', '/Employees/2', { LastName: `Last ${round}` })
        const path = `/Absences?${random.pick(filters)}&sort=${random.pick(sorts)}&page=${random.pick(pages)}`
        const process = random.pick(site.processes)
        const texts = await process.readingOf(() => expectRight(process, path))
        if (!texts.some((text) => COUNT.test(text))) remembered++
      }
      expect(remembered).toBeGreaterThan(ROUNDS / 4)
    },
    TIMEOUT_MS,
  )

  test(
    'shows in every process each write that was answered before the list was asked for',
    async () => {
      const path = '/Companies?Name=fresh&PageSize=50'
      const lists = () => site.processes.map((process) => process.list(path))
      let due = 0
      for (let round = 0; round < rounds(24, 60); round++) {
        const early = lists()
        const { body } = await (round % 2 === 0 ? one : other).write('create', '/Companies', { Name: 'fresh' })
        due++
        const late = lists()
        for (const answer of await Promise.all([...late, ...lists()])) expect(totalOf(answer)).toBe(due)
        for (const answer of await Promise.all(early)) expect(due - totalOf(answer)).toBeOneOf([0, 1])
        if (round % 3 !== 0) continue
        await other.write('remove', `/Companies/${body.id}`)
        due--
        for (const answer of await Promise.all(lists())) expect(totalOf(answer)).toBe(due)
      }
      await expectRight(one, path)
      await sql`delete from company where name = 'fresh'`
    },
    TIMEOUT_MS,
  )

  test('shows a write that was answered while the same list was on its way', async () => {
    const path = '/Companies?Name=crossing'
    const { promise: gate, resolve: open } = Promise.withResolvers<void>()
    let isRead = false
    one.database.instead(COUNT, async (read) => {
      const rows = await read()
      isRead = true
      await gate
      return rows
    })
    const early = one.list(path)
    const same = one.list(path)
    while (!isRead) await Bun.sleep(1)
    await other.write('create', '/Companies', { Name: 'crossing' })
    const late = one.list(path)
    await Bun.sleep(5)
    open()
    expect([await early, await same, await late].map(totalOf)).toEqual([0, 0, 1])
    await expectRight(one, path)
    await sql`delete from company where name = 'crossing'`
  })

  const LAST = ROWS / 20
  test.each([
    ['from the end', LAST - 2, () => other.write('create', '/Absences', { Start: '2014-01-01T00:00:00Z' })],
    ['from the end, past which it lies then', LAST, () => other.write('remove', '/Absences/12')],
    ['from the beginning', DEEP_PAGE - 1, () => other.write('create', '/Absences', { Start: '9999-01-01T00:00:00Z' })],
  ])('has the right rows where others write between the look and the question: %s', async (_, page, write) => {
    await site.plain.write('patch', '/Absences/13', { Start: '9998-01-01T00:00:00Z' }).catch(() => null)
    const path = (number: number) => `/Absences?sort=-Start&page=${number}`
    await expectRight(one, path(1))
    one.database.instead(/ offset \$/, async (read) => {
      await write()
      return read()
    })
    const texts = await one.readingOf(() => expectRight(one, path(page)))
    expect([one.database.isWaiting, times(COUNT, texts)]).toEqual([false, 0])
  })

  test(
    'has the page and its total from one moment while others write',
    async () => {
      let isWriting = true
      let [pages, fromMemory] = [0, 0]
      const writing = Promise.all(
        site.processes.map(async (process, index) => {
          for (let round = 0; round < rounds(50, 150); round++) {
            const { body } = await process.write('create', '/Companies', { Name: 'moment' })
            if (round % 10 > index) await process.write('remove', `/Companies/${body.id}`)
          }
          isWriting = false
        }),
      )
      // The id of each company says how many came before it, and the last page ends with the last of them.
      while (isWriting)
        for (const process of site.processes) {
          const texts = await process.readingOf(async () => {
            const answer = await process.list(`/Companies?Name=moment&PageSize=5&page=${1 + (pages % 4)}`)
            const before = (pages % 4) * 5
            const total = totalOf(answer)
            expect(answer.body.length).toBe(Math.max(0, Math.min(5, total - before)))
          })
          // A list from memory waits for nothing, so the writes' turn has to be given.
          await new Promise(setImmediate)
          pages++
          if (!texts.some((text) => COUNT.test(text))) fromMemory++
        }
      await writing
      expect(fromMemory).toBeGreaterThan(pages / 10)
      await sql`delete from company where name = 'moment'`
    },
    TIMEOUT_MS,
  )

  test('a page that holds all rows has their number as its total, while other machines write too', async () => {
    const path = '/Companies?Name=behind&PageSize=50'
    for (const process of site.processes) await process.write('create', '/Companies', { Name: 'behind' })
    expect(totalOf(await one.list(path))).toBe(2)
    await sql`insert into company (name) select 'behind' from generate_series(1, 3)`
    const answer = await one.list(`${path}&sort=-Id`)
    expect([totalOf(answer), answer.body.length]).toEqual([5, 5])
    await sql`delete from company where name = 'behind'`
  })

  test('comes from the database while the lease has run out', async () => {
    const path = '/Companies?Name=deaf'
    await one.list(path)
    site.deafen()
    await sql`insert into company (name) values ('deaf')`
    for (let turn = 0; turn < 3; turn++) await expectRight(one, path)
    await sql`delete from company where name = 'deaf'`
    await expectRight(one, path)
  })
})

describe('a write that comes to nothing', () => {
  const marks = () => new FlagReader(site.region).now(0xffff)
  const refused = (work: Promise<unknown>, code: string) => expect(work).rejects.toMatchObject({ code })

  test('is not in flight any more: lists do not wait for it', async () => {
    await refused(one.write('create', '/Absences', { EmployeeId: 999_999 }), 'ReferenceNotFound')
    await refused(one.write('patch', '/Absences/1', { EmployeeId: 999_999 }), 'ReferenceNotFound')
    await refused(one.write('remove', '/Employees/2'), 'StillReferenced')
    await refused(one.write('patch', '/Absences/999999', { Status: 'x' }), 'NotFound')
    await refused(one.write('remove', '/Absences/999999'), 'NotFound')
    const ended = { Start: '2024-01-02T00:00:00Z', End: '2024-01-01T00:00:00Z' }
    await refused(one.write('create', '/Absences', ended), 'InvalidValue')
    expect(marks()).toEqual([])
  })

  test('in a batch: each run settles by itself', async () => {
    const total = totalOf(await one.list('/Absences?Status=batch'))
    const writes = Array.from({ length: 20 }, (_, index) =>
      one.write('create', '/Absences', { Status: 'batch', EmployeeId: index % 4 === 0 ? 999_999 : 3 }),
    )
    const done = (await Promise.allSettled(writes)).filter(({ status }) => status === 'fulfilled')
    expect(done).toHaveLength(15)
    expect(marks()).toEqual([])
    for (const process of site.processes) {
      expect(totalOf(await process.list('/Absences?Status=batch'))).toBe(total + 15)
      await expectRight(process, '/Absences?Status=batch&sort=-Id')
    }
    await sql`delete from absence where status = 'batch'`
  })

  test('a write that waits for a lock keeps no list waiting until it is done, and is seen then', async () => {
    const path = (page: number) => `/Absences?Reason=Reason 31&sort=-Id&page=${page}`
    await one.list(path(1))
    let update: Promise<ListAnswer> | undefined
    await sql.begin(async (transaction) => {
      await transaction`select from absence where id = 1 for update`
      update = other.write('patch', '/Absences/1', { Reason: 'Reason 31' })
      while (marks().length === 0) await Bun.sleep(1)
      for (let page = 1; page < 20; page++) await expectRight(one, path(page))
    })
    await update
    expect(marks()).toEqual([])
    for (const process of site.processes) for (const page of [1, 2]) await expectRight(process, path(page))
  })
})

test(
  'little memory: many lists are right, and take no more than that',
  async () => {
    await site.end()
    site = used.site = new ListSite(used.url, 2 ** 20)
    ;[one, other] = site.processes
    const bytes = () => {
      Bun.gc(true)
      const { heapUsed, arrayBuffers } = process.memoryUsage()
      return heapUsed + arrayBuffers
    }
    const path = (n: number) => `/Absences?Id=!=${n}&PageSize=50&page=${1 + (n % 3)}`
    for (let n = 0; n < 100; n++) await one.list(path(n))
    const before = bytes()
    let textBytes = 0
    for (let n = 0; n < LISTS; n++) textBytes += (await one.list(path(n))).text.length
    expect(textBytes / 2 ** 20).toBeGreaterThan(10)
    expect((bytes() - before) / 2 ** 20).toBeLessThan(6)
    for (const n of [0, 1, 2, LISTS >> 1, LISTS - 3, LISTS - 2, LISTS - 1]) await expectRight(one, path(n))
  },
  TIMEOUT_MS,
)
