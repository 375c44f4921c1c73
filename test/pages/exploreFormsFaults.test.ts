import { beforeAll, expect, onTestFinished, test } from 'bun:test'
import { describeInBrowser, useBrowser } from '../support/browser.ts'
import { openForms } from '../support/formPages.ts'
import { createRow, createRows } from '../support/rows.ts'
import { makeKey, openServer, type TestKey } from '../support/server.ts'
import { startServer, useServer } from '../support/start.ts'

const rights = (...all: string[]) => ({ rights: '', addresses: all.join('\n') })
const whole = makeKey()
const asking = rights('read Absences', 'read Employees', 'create Absences?Status=Requested&fields=EmployeeId,Type,Reason')
const asker = makeKey(asking)
const decider = makeKey(
  rights('read Absences', 'update Absences?Status=Requested&fields=Status becomes Status[]=Approved&Status[]=Declined'),
)
const limited = makeKey({ ...asking, limits: '40/1m' })
const keys = [whole, asker, decider, limited].map(({ record }) => record)

describeInBrowser('forms of /explore when something goes wrong', () => {
  const server = useServer({ keys })
  const browser = useBrowser()
  beforeAll(async () => {
    await createRows(server, '/Employees', [{ FirstName: 'Ada', LastName: 'Byron' }])
  })
  const open = ({ text }: TestKey, hash: string) => openForms(browser, server, text, hash)
  const countOf = async (reason: string) => Number((await server.get(`/Absences?Reason=${reason}`)).headers.get('x-total-count'))
  const newAbsence = (body: object = {}) => createRow(server, '/Absences', { EmployeeId: 1, Status: 'Requested', ...body })

  test('a write whose answer was lost is sent again without a click, and creates one row', async () => {
    const forms = await open(asker, '#/Absences?form=new')
    await forms.field('Reason').fill('Lost')
    let lost = 0
    await forms.page.route('**/Absences', async (route) => {
      if (route.request().method() !== 'POST' || lost > 0) return route.continue()
      lost += 1
      await route.fetch()
      await route.abort()
    })
    await forms.press('Create')
    await forms.panel.getByText('The server does not answer. What you typed stays here, and is sent again.').waitFor()
    expect(await countOf('Lost')).toBe(1)
    await forms.press('Try now')
    await forms.message('was created')
    expect([lost, await countOf('Lost')]).toEqual([1, 1])
  })

  test('a write whose answer was lost is sent again after a reload of the page, and creates one row', async () => {
    const forms = await open(asker, '#/Absences?form=new')
    await forms.field('Reason').fill('Reloaded')
    await forms.page.route('**/Absences', async (route) => {
      if (route.request().method() !== 'POST') return route.continue()
      await route.fetch()
      await route.abort()
    })
    await forms.press('Create')
    await forms.panel.getByText('The server does not answer.').waitFor()
    await forms.page.unrouteAll({ behavior: 'wait' })
    await forms.page.reload()
    await forms.message('was created')
    expect(await countOf('Reloaded')).toBe(1)
  })

  test('a write to a stopped server is done once when the server is started again', async () => {
    const first = await startServer({ keys })
    const forms = await openForms(browser, first, asker.text, '#/Absences?form=new')
    await forms.field('Reason').fill('Stopped')
    await first.stop()
    await forms.press('Create')
    await forms.panel.getByText('The server does not answer.').waitFor()
    expect(await forms.field('Reason').isDisabled()).toBe(true)
    const again = await openServer({ databaseUrl: first.databaseUrl, environment: { PORT: new URL(first.url).port } })
    onTestFinished(() => again.stop())
    await forms.message('was created')
    expect((await again.get('/Absences')).body.map(({ reason }: { reason: string }) => reason)).toEqual(['Stopped'])
  })

  test('a form counts down when the rate limit is reached, and keeps what was typed', async () => {
    const forms = await open(limited, '#/Absences?form=new')
    await forms.field('Reason').fill('Limited')
    while ((await server.get('/Absences?PageSize=5', limited.headers)).status !== 429);
    await forms.press('Create')
    await forms.panel.getByText('That was more than you may send in this time.').waitFor()
    await forms.panel.getByText(/Trying again in \d+ s/).waitFor()
    await forms.press('Change it first')
    expect(await forms.field('Reason').inputValue()).toBe('Limited')
    expect(await countOf('Limited')).toBe(0)
  })

  test('a form says in words that the key has lost the right meanwhile, and keeps what was typed', async () => {
    const forms = await open(asker, '#/Absences?form=new')
    await forms.field('Reason').fill('Revoked')
    const changed = { ...asker.record, ...rights('read Absences') }
    await server.replaceKeys(keys.map((key) => (key.id === changed.id ? changed : key)))
    onTestFinished(() => server.replaceKeys(keys))
    await forms.press('Create')
    await forms.panel.getByText(/^You may not do this, or not any more: /).waitFor()
    expect(await forms.field('Reason').inputValue()).toBe('Revoked')
    expect(await forms.page.locator('main').textContent()).not.toMatch(/403|PATCH|POST|ETag/)
    await forms.page.reload()
    await forms.page.getByText('You had typed what cannot be saved any more:').waitFor()
    expect(await forms.page.locator('pre').textContent()).toBe('Reason: Revoked')
  })

  test('a button for a decision says in words that the key has lost the right meanwhile', async () => {
    const { id } = await newAbsence()
    const forms = await open(decider, `#/Absences?row=${id}`)
    await forms.button('Approve').waitFor()
    const changed = { ...decider.record, ...rights('read Absences') }
    await server.replaceKeys(keys.map((key) => (key.id === changed.id ? changed : key)))
    onTestFinished(() => server.replaceKeys(keys))
    await forms.press('Approve')
    await forms.press('Yes, approve')
    await forms.panel.getByText('You may not decide this, or not any more. Nothing was changed.').waitFor()
    expect((await server.get(`/Absences/${id}`)).body.status).toBe('Requested')
  })

  test('a form says that its row was deleted meanwhile, and shows what was typed, so that it can be copied', async () => {
    const { id } = await newAbsence({ Reason: 'Sea' })
    const forms = await open(whole, `#/Absences?row=${id}`)
    await forms.press('Edit')
    await forms.field('Reason').fill('Mountains')
    await server.remove(`/Absences/${id}`)
    await forms.press('Save')
    await forms.panel.getByText('This row was deleted meanwhile, or you may no longer see it.').waitFor()
    expect(await forms.panel.locator('pre').textContent()).toBe('Reason: Mountains')
    expect(await forms.violations()).toEqual([])
    await forms.page.reload()
    await forms.panel.locator('pre', { hasText: 'Reason: Mountains' }).waitFor()
  })

  test('a form is saved without a question if somebody else has changed only other properties of the row', async () => {
    const { id } = await newAbsence({ Reason: 'Sea' })
    const forms = await open(whole, `#/Absences?row=${id}`)
    await forms.press('Edit')
    await forms.field('Type').fill('Leave')
    await server.patch(`/Absences/${id}`, { Reason: 'Desert' })
    await forms.press('Save')
    await forms.message('Saved. Somebody else has changed Reason meanwhile; that stays, too.')
    const { body } = await server.get(`/Absences/${id}`)
    expect([body.type, body.reason]).toEqual(['Leave', 'Desert'])
  })

  test('a draft for a row is restored when the row is opened again, but not for another key', async () => {
    const { id } = await newAbsence({ Reason: 'Sea' })
    const forms = await open(whole, `#/Absences?row=${id}&form=edit`)
    await forms.field('Reason').fill('Mountains')
    await forms.press('Close')
    await forms.message('What you typed is kept until you close this tab.')
    await forms.show(`#/Absences?row=${id}`)
    await forms.press('Go on editing (draft)')
    expect(await forms.field('Reason').inputValue()).toBe('Mountains')
    await forms.page.getByRole('button', { name: 'Forget' }).click()
    await forms.page.getByLabel('Key').fill(makeKey().text)
    await forms.show(`#key=${decider.text}`)
    const kept = (await forms.page.evaluate('JSON.stringify({ ...sessionStorage })')) as string
    expect(kept).toContain('Mountains')
    await forms.show(`#/Absences?row=${id}&form=edit`)
    await forms.panel.getByRole('heading').first().waitFor()
    expect(await forms.page.getByText('Mountains').count()).toBe(0)
  })
})
