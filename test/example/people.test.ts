import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { askAs, type Example, processesOf, startExample, type Tokens, Visitor } from '../support/example.ts'
import { endPrograms, temporaryFolder, until } from '../support/process.ts'

describe('the example of people', () => {
  let example: Example
  const visitor = () => new Visitor(example)
  beforeAll(async () => {
    example = await startExample(temporaryFolder().path)
  })
  afterAll(endPrograms)

  test('has twelve people in three levels on its sign-in page, which says that this is a demonstration', async () => {
    const { text } = await visitor().open(`${example.provider}/auth?${visitor().authorization('v'.repeat(43))}`)
    const accounts = [...text.matchAll(/name="account" value="(\w+)"/g)].map(([, account]) => account)
    expect(accounts).toHaveLength(12)
    expect([...text.matchAll(/<h2>(\w+)/g)].map(([, title]) => title)).toEqual(['Director', 'Managers', 'Employees'])
    expect(text).toContain('A demonstration: there are no passwords')
    expect(text).toContain('Mina Vandenbroucke-Konstantinopolitanska')
  })

  test('lets an employee ask for leave, her manager approve it, and HR and the employee see the approval', async () => {
    const [bo, olena, noor] = [await visitor().signIn('bo'), await visitor().signIn('olena'), await visitor().signIn('noor')]
    const leave = { Type: 'Holiday', Reason: 'A test', Start: '2031-03-03T08:00:00Z', End: '2031-03-04T16:00:00Z' }
    const asked = await askAs(bo, example, 'POST', '/Absences', leave)
    expect(asked).toMatchObject({ status: 201, body: { status: 'Requested', employee: 'Bo Li' } })

    const path = `/Absences/${asked.body.id}`
    expect((await askAs(olena, example, 'GET', path)).body.reason).toBe('A test')
    expect((await askAs(olena, example, 'PATCH', path, { Status: 'Approved' })).status).toBe(200)
    expect((await askAs(noor, example, 'GET', path)).body.status).toBe('Approved')
    expect((await askAs(bo, example, 'GET', path)).body.status).toBe('Approved')
  })

  test('shows a person of each level the absences of her own people', async () => {
    const namesFor = async (account: string) => {
      const { body } = await askAs(await visitor().signIn(account), example, 'GET', '/Absences?PageSize=50')
      return [...new Set((body as { employee: string }[]).map(({ employee }) => employee))].sort()
    }
    expect(await namesFor('bo')).toEqual(['Bo Li'])
    expect(await namesFor('tomas')).toHaveLength(4)
    expect(await namesFor('ingrid')).toHaveLength(4)
    expect(await namesFor('noor')).toHaveLength(12)
  })

  test('has requests for leave that wait for each manager, the director and HR', async () => {
    for (const account of ['olena', 'tomas', 'grace', 'ingrid', 'noor']) {
      const { total } = await askAs(await visitor().signIn(account), example, 'GET', '/Absences?Status=Requested')
      expect(total).toBeGreaterThan(1)
    }
  })

  test('tells the employee without an e-mail address why he has no rights', async () => {
    const { status, body } = await askAs(await visitor().signIn('sam'), example, 'GET', '/Absences')
    expect([status, body.Error.Message]).toEqual([403, expect.stringContaining('You have no rights')])
  })

  test('renews a sign-in only once with each refresh token', async () => {
    const person = visitor()
    const first = await person.signIn('bo')
    expect(first.expires_in).toBe(300)
    const renewal = { grant_type: 'refresh_token', refresh_token: first.refresh_token }
    const second = await person.tokens(renewal)
    expect(second.refresh_token).not.toBe(first.refresh_token)
    expect((await askAs(second, example, 'GET', '/Rights')).status).toBe(200)
    expect((await person.exchange(renewal)).status).toBe(400)
  })

  test('signs out one of two people who are signed in with one browser', async () => {
    const person = visitor()
    const [bo, olena] = [await person.signIn('bo'), await person.signIn('olena')]
    const leaving = { id_token_hint: bo.id_token, post_logout_redirect_uri: person.redirectUri, state: 'left' }
    const { text } = await person.open(`${example.provider}/session/end?${new URLSearchParams(leaving)}`)
    const xsrf = /name="xsrf" value="(\w+)"/.exec(text)?.[1] ?? ''
    const left = await person.open(`${example.provider}/session/end/confirm`, new URLSearchParams({ xsrf, logout: 'yes' }))
    expect(left.address).toBe(`${person.redirectUri}?state=left`)

    const renew = ({ refresh_token }: Tokens) => person.exchange({ grant_type: 'refresh_token', refresh_token })
    expect((await renew(bo)).status).toBe(400)
    expect((await renew(olena)).status).toBe(200)
  })

  test('returns to Roster with an error if no person is chosen', async () => {
    const person = visitor()
    const page = await person.open(`${example.provider}/auth?${person.authorization('v'.repeat(43))}`)
    const { address } = await person.open(page.address, new URLSearchParams({ account: '' }))
    expect(new URL(address).searchParams.get('error')).toBe('access_denied')
  })

  test('shows a page with a message at the address of a sign-in that the provider does not know', async () => {
    const { text } = await visitor().open(`${example.provider}/interaction/unknown`)
    expect(text).toContain('This sign-in cannot go on')
  })

  test('reads other rights from its copy of the roles file on SIGUSR2', async () => {
    const noor = await visitor().signIn('noor')
    const path = join(example.folder, 'roles.txt')
    const roles = readFileSync(path, 'utf8')
    writeFileSync(path, roles.replace('has hr', 'has nobody'))
    process.kill(processesOf(example)[1] as number, 'SIGUSR2')
    const companies = async () => (await askAs(noor, example, 'GET', '/Companies')).status
    await until(async () => (await companies()) === 403)
    writeFileSync(path, roles)
    process.kill(processesOf(example)[1] as number, 'SIGUSR2')
    await until(async () => (await companies()) === 200)
  })
})
