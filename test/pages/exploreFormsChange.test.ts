import { beforeAll, expect, test } from 'bun:test'
import { describeInBrowser, useBrowser } from '../support/browser.ts'
import { openForms } from '../support/formPages.ts'
import { createRow, createRows } from '../support/rows.ts'
import { makeKey, type TestKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const withRights = (...rights: string[]) => makeKey({ rights: '', addresses: rights.join('\n') })
const whole = makeKey()
const manager = withRights(
  'read Employees',
  'read Absences',
  'update Absences?Status=Requested&fields=Status becomes Status[]=Approved&Status[]=Declined',
)
const other = makeKey({ rights: '', addresses: manager.record.addresses })
const keys = [whole, manager, other].map(({ record }) => record)

describeInBrowser('forms of /explore for existing rows', () => {
  const server = useServer({ keys, environment: { CHANGES_VALUES: 'on' } })
  const browser = useBrowser()
  beforeAll(async () => {
    await createRows(server, '/Companies', [{ Name: 'Acme' }, { Name: 'Other' }])
    await createRows(server, '/Employees', [{ FirstName: 'Ada', LastName: 'Byron', CompanyId: 1 }])
  })

  const open = ({ text }: TestKey, hash: string) => openForms(browser, server, text, hash)
  const newAbsence = (body: object = {}) =>
    createRow(server, '/Absences', { EmployeeId: 1, Status: 'Requested', Type: 'Holiday', ...body })

  test('a form sends only the changed properties', async () => {
    const { id } = await newAbsence({ Reason: 'Sea', Period: { Days: 2.5, Hours: 3 } })
    const forms = await open(whole, `#/Absences?row=${id}`)
    await forms.button('Edit').click()
    const bodies: (string | null)[] = []
    forms.page.on('request', (request) => request.method() === 'PATCH' && bodies.push(request.postData()))
    await forms.field('Period days').fill('3')
    await forms.field('Reason').fill('')
    await forms.button('Save').click()
    await forms.message('Saved.')
    expect(bodies).toEqual(['{"Reason":null,"Period":{"Days":3}}'])
    const { body } = await server.get(`/Absences/${id}`)
    expect([body.reason, body.period, body.type]).toEqual([null, { prefered: null, days: 3, hours: 3 }, 'Holiday'])
    expect(forms.complaints).toEqual([])
  })

  test('a key that may only approve or decline gets buttons for these two decisions, and no others', async () => {
    const { id } = await newAbsence()
    const forms = await open(manager, `#/Absences?row=${id}`)
    await forms.button('Approve').waitFor()
    await forms.button('Decline').waitFor()
    expect(await forms.page.locator('.actions button').allInnerTexts()).toEqual(['Approve', 'Decline'])
    await forms.button('Approve').click()
    await forms.button('Yes, approve').click()
    await forms.message('Status is “Approved” now.')
    expect((await server.get(`/Absences/${id}`)).body.status).toBe('Approved')
    await forms.page.locator('aside dd', { hasText: 'Approved' }).waitFor()
    expect(await forms.button('Decline').count()).toBe(0)
    await forms.page.getByText('by you').waitFor()
    expect(forms.complaints).toEqual([])
  })

  test('if two readers decide at the same time, the second is told what the first has decided', async () => {
    const { id } = await newAbsence()
    const first = await open(manager, `#/Absences?row=${id}`)
    const second = await open(other, `#/Absences?row=${id}`)
    await second.button('Decline').waitFor()
    await first.button('Approve').click()
    await first.button('Yes, approve').click()
    await first.message('Status is “Approved” now.')
    await second.button('Decline').click()
    await second.button('Yes, decline').click()
    await second.message('Somebody else was faster: Status is “Approved” now.')
    await second.button('Decline').waitFor({ state: 'detached' })
    expect((await server.get(`/Absences/${id}`)).body.status).toBe('Approved')
  })

  test('a form for a row that was changed meanwhile asks only about the properties that both readers have changed', async () => {
    const { id } = await newAbsence({ Reason: 'Sea' })
    const forms = await open(whole, `#/Absences?row=${id}`)
    await forms.button('Edit').click()
    await forms.field('Reason').fill('Mountains')
    await forms.field('Type').fill('Leave')
    await server.patch(`/Absences/${id}`, { Reason: 'Desert', Status: 'Approved' })
    await forms.button('Save').click()
    const comparison = forms.page.getByRole('form', { name: 'Comparison' })
    await comparison.waitFor()
    expect(await comparison.locator('legend').allInnerTexts()).toEqual(['Reason'])
    for (const text of ['Before: Sea', 'Keep mine: Mountains', 'Take theirs: Desert']) await comparison.getByText(text).waitFor()
    expect(await forms.violations()).toEqual([])
    await comparison.getByLabel('Take theirs: Desert').check()
    await forms.button('Save this choice').click()
    await forms.message('Somebody else has changed Status meanwhile')
    const { body } = await server.get(`/Absences/${id}`)
    expect([body.reason, body.type, body.status]).toEqual(['Desert', 'Leave', 'Approved'])
  })

  test('a deletion asks with the name of the row; if the deletion is refused, the page says which rows refer to this row', async () => {
    const forms = await open(whole, '#/Companies?row=1')
    await forms.button('Delete').click()
    await forms.page.getByText('Delete Company 1 (Acme)? This cannot be undone.').waitFor()
    await forms.button('Delete it').click()
    await forms.page.getByText('It cannot be deleted, because others refer to it.').waitFor()
    await forms.page.getByRole('link', { name: '1 employee of this company' }).waitFor()
    await forms.page.goto(`${server.url}/explore#/Companies?row=2`)
    await forms.page.getByRole('heading', { name: 'Company 2' }).waitFor()
    await forms.button('Delete').click()
    await forms.button('Delete it').click()
    await forms.message('Company 2 (Other) was deleted.')
    expect((await server.get('/Companies/2')).status).toBe(404)
    expect(await forms.page.evaluate('location.hash')).toBe('#/Companies')
  })

  test('a row that was changed after it was opened is not deleted, but shown with its new values', async () => {
    const { id } = await newAbsence({ Reason: 'Sea' })
    const forms = await open(whole, `#/Absences?row=${id}`)
    await forms.press('Delete')
    await server.patch(`/Absences/${id}`, { Reason: 'Desert' })
    await forms.press('Delete it')
    await forms.message('Somebody else has changed this row meanwhile. Look at it again before you delete it.')
    await forms.panel.locator('dd', { hasText: 'Desert' }).waitFor()
    expect((await server.get(`/Absences/${id}`)).status).toBe(200)
    await forms.press('Delete')
    await forms.press('Delete it')
    await forms.message('was deleted.')
    expect((await server.get(`/Absences/${id}`)).status).toBe(404)
  })

  test.each([
    ['Keep all mine', ['Mountains', 'Leave']],
    ['Take all theirs', ['Desert', 'Training']],
  ])('the button %s decides about all values that both readers have changed', async (name, values) => {
    const { id } = await newAbsence({ Reason: 'Sea' })
    const forms = await open(whole, `#/Absences?row=${id}&form=edit`)
    await forms.field('Reason').fill('Mountains')
    await forms.field('Type').fill('Leave')
    await server.patch(`/Absences/${id}`, { Reason: 'Desert', Type: 'Training' })
    await forms.press('Save')
    await forms.press(name)
    await forms.message('Saved.')
    const { body } = await server.get(`/Absences/${id}`)
    expect([body.reason, body.type]).toEqual(values)
  })

  test('a year that begins with 1 can be typed into the day of a date-time, in a form and in a filter', async () => {
    const { id } = await newAbsence({ Start: '2026-01-05T09:00:00Z' })
    const forms = await open(whole, `#/Absences?row=${id}&form=edit`)
    const day = forms.panel.locator('input[type=date]').first()
    await day.focus()
    await forms.page.keyboard.type('05051985')
    expect(await day.inputValue()).toBe('1985-05-05')
    await forms.press('Save')
    await forms.message('Saved.')
    expect((await server.get(`/Absences/${id}`)).body.start).toBe('1985-05-05T09:00:00Z')

    await forms.show('#/Absences?Start=2026-01-05T09:00:00Z')
    await forms.page
      .getByRole('button', { name: /^Start/ })
      .first()
      .click()
    const filtered = forms.page.getByLabel('Day', { exact: true })
    await filtered.focus()
    await forms.page.keyboard.type('05051985')
    expect(await filtered.inputValue()).toBe('1985-05-05')
  })

  test('the history of a row has the values before and after each change, and says who has made it', async () => {
    const { id } = await newAbsence({ Reason: 'Sea' })
    await server.patch(`/Absences/${id}`, { Reason: 'Desert' })
    const forms = await open(whole, `#/Absences?row=${id}`)
    await forms.panel.locator('ol li li', { hasText: 'Reason: Sea → Desert' }).waitFor()
    expect(
      (await forms.panel.locator('ol > li').allInnerTexts()).map(
        (text) => text.replace(/^.*: (?=Changed|Created)/s, '').split('\n')[0],
      ),
    ).toEqual([...['Changed by key bootstrap-1', 'Created by key bootstrap-1']])
  })
})
