import { beforeAll, expect, test } from 'bun:test'
import { describeInBrowser, useBrowser } from '../support/browser.ts'
import { type FormPage, openForms } from '../support/formPages.ts'
import { createRows } from '../support/rows.ts'
import { makeKey, type TestKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const rights = (...all: string[]) => ({ rights: '', addresses: all.join('\n') })
const asking = rights('read Absences', 'read Employees', 'create Absences?Status=Requested&fields=EmployeeId,Type,Reason')
const asker = makeKey(asking)
const limited = makeKey({ ...asking, limits: '40/1m' })
const keys = [asker, limited].map(({ record }) => record)
const DAY_MS = 24 * 3_600_000

describeInBrowser('/explore after a write whose answer was lost', () => {
  const server = useServer({ keys })
  const browser = useBrowser()
  beforeAll(async () => {
    await createRows(server, '/Employees', [{ FirstName: 'Ada', LastName: 'Byron' }])
  })
  const open = ({ text }: TestKey, hash: string) => openForms(browser, server, text, hash)
  const countOf = async (reason: string) => Number((await server.get(`/Absences?Reason=${reason}`)).headers.get('x-total-count'))

  /** Fills in a new absence, and sends it so that the answer is lost. */
  async function loseAnswer(forms: FormPage, reason: string): Promise<void> {
    await forms.field('Reason').fill(reason)
    await forms.page.route('**/Absences', async (route) => {
      if (route.request().method() !== 'POST') return route.continue()
      await route.fetch()
      await route.abort()
    })
    await forms.press('Create')
    await forms.panel.getByText('The server does not answer.').waitFor()
    await forms.page.unrouteAll({ behavior: 'wait' })
  }

  test('a rate limit that the repeated write reaches leads to no second row', async () => {
    const forms = await open(limited, '#/Absences?form=new')
    await loseAnswer(forms, 'Limit')
    while ((await server.get('/Absences?PageSize=5', limited.headers)).status !== 429);
    await forms.press('Try now')
    await forms.panel.getByText('That was more than you may send in this time.').waitFor()
    await server.replaceKeys(keys.map((key) => (key.id === limited.record.id ? { ...limited.record, limits: '400/1m' } : key)))
    await forms.press('Try now')
    await forms.message('was created')
    expect(await countOf('Limit')).toBe(1)
  })

  test('a form that is opened when the server no longer stores the answer says that the outcome is uncertain, and sends nothing', async () => {
    const forms = await open(asker, '#/Absences?form=new')
    await loseAnswer(forms, 'Friday')
    const requests: string[] = []
    forms.page.on('request', (request) => requests.push(request.method()))
    await forms.page.clock.setSystemTime(Date.now() + 2 * DAY_MS)
    await forms.page.reload()
    await forms.panel.getByText('It is not certain whether this was saved before.').waitFor()
    expect([await forms.field('Reason').inputValue(), requests.includes('POST')]).toEqual(['Friday', false])
  })
})
