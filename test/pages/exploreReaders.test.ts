import { beforeAll, expect, test } from 'bun:test'
import { describeInBrowser, useBrowser } from '../support/browser.ts'
import { openForms } from '../support/formPages.ts'
import { createRow, createRows } from '../support/rows.ts'
import { makeKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const whole = makeKey()
const decider = makeKey({
  rights: '',
  addresses: 'read Absences\nupdate Absences?fields=Status becomes Status[]=Requested&Status[]=Approved&Status[]=Constructor',
})
const keys = [whole, decider].map(({ record }) => record)

describeInBrowser('/explore after another reader:', () => {
  const server = useServer({ keys })
  const browser = useBrowser()
  beforeAll(async () => {
    await createRows(server, '/Employees', [{ FirstName: 'Ada', LastName: 'Byron' }])
  })
  const newAbsence = (body: object = {}) => createRow(server, '/Absences', { EmployeeId: 1, Status: 'Requested', ...body })

  test('the message about a decision and its Undo are not shown to the next reader', async () => {
    const { id } = await newAbsence()
    const forms = await openForms(browser, server, decider.text, `#/Absences?row=${id}`)
    await forms.press('Approve')
    await forms.button('Undo').waitFor()
    await forms.page.getByRole('button', { name: 'Forget' }).click()
    await forms.page.getByLabel('Key').fill(whole.text)
    await forms.page.keyboard.press('Enter')
    await forms.page.locator('nav a').first().waitFor()
    expect(await forms.page.getByText(/is “Approved” now|Undo/).count()).toBe(0)
  })

  test('a page that the browser restores from its cache after the key was forgotten shows no rows', async () => {
    await newAbsence({ Reason: 'Secret' })
    const forms = await openForms(browser, server, whole.text, '#/Absences')
    await forms.page.getByText('Secret').first().waitFor()
    await forms.page.evaluate('sessionStorage.clear(); dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }))')
    await forms.page.getByLabel('Key').waitFor()
    expect(await forms.page.getByText('Secret').count()).toBe(0)
  })

  test('a decision whose value is named Constructor, like a member of every object, has a button with a label', async () => {
    const { id } = await newAbsence()
    const forms = await openForms(browser, server, decider.text, `#/Absences?row=${id}`)
    await forms.button('Set to “Constructor”').waitFor()
    expect(forms.complaints).toEqual([])
  })
})
