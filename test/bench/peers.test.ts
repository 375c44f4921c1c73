import { afterAll, describe, expect, test } from 'bun:test'
import { dependencies } from '../../bench/peers/package.json'
import lockfile from '../../bench/peers/package-lock.json'
import { translateToPlatformatic, translateToSame } from '../../bench/peers/translate.ts'
import { checkPeers, type Peer } from '../../bench/peers.ts'
import type { Operation } from '../../bench/scenarios.ts'
import { testLockfile } from '../support/lockfile.ts'

const get = (path: string, more: Partial<Operation> = {}): Operation => ({ method: 'GET', path, status: 200, ...more })

describe('the packages of the peers', () => {
  testLockfile(dependencies, lockfile, 100)
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
    ['/Companies?sort=Enabled,-Name', '/company/?orderby.enabled=asc&orderby.name=desc&orderby.id=desc&limit=20&totalCount=true'],
  ]
  for (const [path, expected] of cases)
    test(`${path} becomes ${expected}`, () => {
      expect(translateToPlatformatic(get(path))).toEqual(get(expected))
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

  test('a PATCH without what is never null is none that it takes', () => {
    const rename: Operation = { method: 'PATCH', path: '/Companies/{1..9}', body: '{"Name":"Bench"}', status: 200 }
    expect([translateToSame(rename), translateToPlatformatic(rename)]).toEqual([rename, null])
    const absence: Operation = { method: 'PATCH', path: '/Absences/1', body: '{"Status":"Approved"}', status: 200 }
    expect(translateToPlatformatic(absence)?.path).toBe('/absence/?where.id.eq=1')
  })
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

  test('names peer, request and the first difference', async () => {
    await expect(check(serve([{ id: 1, name: 'Bob' }], '1'))).rejects.toThrow(
      'fastify does not answer /Companies?sort=Name as Roster does: answer.body[0].name is "Bob" instead of "Ada"',
    )
    await expect(check(serve(rows, '2'))).rejects.toThrow('answer.total is "2" instead of "1"')
    await expect(check(serve({ message: 'no' }, '1', 500))).rejects.toThrow('answer.status is 500 instead of 200')
  })
})
