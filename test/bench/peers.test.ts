import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { drawRequests } from '../../bench/load/requests.mjs'
import { draw, firstDifference } from '../../bench/peers/check.ts'
import { dependencies } from '../../bench/peers/package.json'
import lockfile from '../../bench/peers/package-lock.json'
import { readPlatformatic } from '../../bench/peers/readPlatformatic.ts'
import { translateToPlatformatic, translateToSame } from '../../bench/peers/translate.ts'
import { checkPeers, type Peer, peerNames } from '../../bench/peers.ts'
import type { Operation } from '../../bench/scenarios.ts'
import { testLockfile } from '../support/lockfile.ts'

const FOLDER = join(import.meta.dir, '../../bench/peers')

const get = (path: string, more: Partial<Operation> = {}): Operation => ({ method: 'GET', path, status: 200, ...more })

describe('the packages of the peers', () => {
  testLockfile(dependencies, lockfile, 100)
})

describe('a peer', () => {
  test('has a program of its name', () => {
    expect(peerNames.filter((name) => !existsSync(join(FOLDER, `${name}.mjs`)))).toEqual([])
    expect(peerNames.length).toBeGreaterThan(0)
  })
})

describe('translation for Platformatic DB', () => {
  const cases: [string, string][] = [
    ['/Absences/{1..1000}', '/absence/{1..1000}'],
    ['/Absences', '/absence/?orderby.id=asc&limit=20&totalCount=true'],
    [
      '/Absences?Status=Approved&sort=-Start',
      '/absence/?where.status.eq=Approved&orderby.start=desc&orderby.id=desc&limit=20&totalCount=true',
    ],
    [
      '/Absences?Start=%3E%3D2023-01-01T00:00:00Z&Start=%3C2024-01-01T00:00:00Z&PageSize=50',
      '/absence/?where.start.gte=2023-01-01T00%3A00%3A00Z&where.start.lt=2024-01-01T00%3A00%3A00Z&orderby.id=asc&limit=50&totalCount=true',
    ],
    ['/Absences?EmployeeId={1..200}', '/absence/?where.employeeId.eq={1..200}&orderby.id=asc&limit=20&totalCount=true'],
    [
      '/Absences?Period.Days=%3E2&page=2000',
      '/absence/?where.periodDays.gt=2&orderby.id=asc&limit=20&offset=39980&totalCount=true',
    ],
    [
      '/Absences?Start=%3E%3D{2016-07-01..2025-11-01}&Start=%3C{60d..61d}&Type=Holiday&PageSize=10&page={1..9}',
      '/absence/?where.start.gte={2016-07-01..2025-11-01}&where.start.lt={60d..61d}&where.type.eq=Holiday&orderby.id=asc&limit=10&offset={0..80/10}&totalCount=true',
    ],
    [
      '/Companies?sort=Enabled,-Name',
      '/company/?orderby.enabled=asc&orderby.name=desc&orderby.id=desc&limit=20&totalCount=true',
    ],
  ]
  for (const [path, expected] of cases)
    test(`${path} becomes ${expected}`, () => {
      expect(translateToPlatformatic(get(path))).toEqual(get(expected))
    })

  test('a random page is the same page, in the same order of requests', () => {
    const list = get('/Absences?Start=%3E%3D{2016-07-01..2025-11-01}&page={1..400}')
    const placesOf = (operation: Operation | null, name: string) =>
      drawRequests(operation ? [operation] : [], 50, 7).map(({ path }) =>
        Number(new RegExp(`${name}=(\\d+)`).exec(path)?.[1]),
      )
    const pages = placesOf(list, 'page')
    expect(placesOf(translateToPlatformatic(list), 'offset')).toEqual(pages.map((page) => 20 * (page - 1)))
    expect(new Set(pages).size).toBeGreaterThan(10)
  })

  test('a POST has its own keys and status', () => {
    const body = '{"Name":"Company {1..9}","Enabled":true}'
    expect(translateToPlatformatic({ method: 'POST', path: '/Companies', body, status: 201 })).toEqual({
      method: 'POST',
      path: '/company/',
      body: '{"name":"Company {1..9}","enabled":true}',
      status: 200,
    })
  })

  test('a PATCH is an update of all rows with the id', () => {
    expect(
      translateToPlatformatic({ method: 'PATCH', path: '/Companies/{1..9}', body: '{"Enabled":false}', status: 200 }),
    ).toEqual({ method: 'PUT', path: '/company/?where.id.eq={1..9}', body: '{"enabled":false}', status: 200 })
  })

  test('a PATCH without what is never null is none that it takes', () => {
    const rename: Operation = { method: 'PATCH', path: '/Companies/{1..9}', body: '{"Name":"Bench"}', status: 200 }
    expect([translateToSame(rename), translateToPlatformatic(rename)]).toEqual([rename, null])
    const absence: Operation = { method: 'PATCH', path: '/Absences/1', body: '{"Status":"Approved"}', status: 200 }
    expect(translateToPlatformatic(absence)?.path).toBe('/absence/?where.id.eq=1')
  })

  test('what it cannot do is null', () => {
    for (const path of [
      '/Absences?Status=!=Approved',
      '/Absences?Status=',
      '/Absences?after=x',
      '/Absences?sort=x',
      '/',
    ])
      expect([path, translateToPlatformatic(get(path))]).toEqual([path, null])
  })
})

test('rows of Platformatic DB are read as Roster writes them', () => {
  const row = { id: '7', employeeId: null, start: '2026-01-05T09:00:00.000Z', periodPrefered: null, periodHours: null }
  expect(readPlatformatic({ ...row, periodDays: '2.50000000' })).toEqual({
    id: 7,
    employeeId: null,
    start: '2026-01-05T09:00:00Z',
    period: { prefered: null, days: 2.5, hours: null },
  })
  expect(readPlatformatic([{ ...row, periodDays: null }])).toEqual([
    { id: 7, employeeId: null, start: '2026-01-05T09:00:00Z', period: null },
  ])
  expect(readPlatformatic({ id: '1', name: '12', enabled: true })).toEqual({ id: 1, name: '12', enabled: true })
})

describe('the check', () => {
  const rows = [{ id: 1, name: 'Ada' }]
  const servers: { stop(): unknown }[] = []
  const serve = (body: unknown, total: string, status = 200) => {
    const answer = () => Response.json(body, { status, headers: { 'X-Total-Count': total } })
    const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: answer })
    servers.push(server)
    return `http://127.0.0.1:${server.port}`
  }
  const peer = (url: string): Peer => ({
    name: 'fastify',
    isIndexed: false,
    url,
    pids: () => [],
    version: '',
    translate: translateToSame,
    readBody: (body) => body,
    stop: async () => undefined,
  })
  const check = (url: string, path = '/Companies?sort=Name') =>
    checkPeers([peer(url)], { urls: [serve(rows, '1')], headers: {} }, [get(path)])
  afterAll(() => Promise.all(servers.map((server) => server.stop())))

  test('passes where all is equal', async () => {
    await check(serve(rows, '1'))
  })

  test('names peer, request and the first difference', async () => {
    await expect(check(serve([{ id: 1, name: 'Bob' }], '1'))).rejects.toThrow(
      'fastify does not answer /Companies?sort=Name as Roster does: answer.body[0].name is "Bob" instead of "Ada"',
    )
    await expect(check(serve(rows, '2'))).rejects.toThrow('answer.total is "2" instead of "1"')
    await expect(check(serve({ message: 'no' }, '1', 500))).rejects.toThrow('answer.status is 500 instead of 200')
  })

  test('leaves out what a peer cannot do', async () => {
    await check(serve([], '0'), '/Employees')
  })

  test('draws the same values each time, within their range', () => {
    const drawn = draw(get('/Absences/{5..9}'))
    expect(draw(get('/Absences/{5..9}'))).toEqual(drawn)
    expect(new Set(drawn.map(({ path }) => path)).size).toBeGreaterThan(1)
    for (const { path } of drawn) expect(path).toMatch(/^\/Absences\/[5-9]$/)
    expect(draw(get('/Absences'))).toEqual([get('/Absences')])
  })

  test('finds what is missing, what is too much, and null', () => {
    expect(firstDifference({ a: [1] }, { a: [1, 2] }, 'x')).toBe('x.a[1] is undefined instead of 2')
    expect(firstDifference({ a: 1, b: 2 }, { a: 1 }, 'x')).toBe('x.b is 2 instead of undefined')
    expect(firstDifference({ a: null }, { a: { b: 1 } }, 'x')).toBe('x.a is null instead of {"b":1}')
    expect(firstDifference({ a: [1, { b: null }] }, { a: [1, { b: null }] }, 'x')).toBeNull()
  })
})
