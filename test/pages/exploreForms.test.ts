import { beforeAll, expect, test } from 'bun:test'
import type { BrowserContextOptions, Locator } from 'playwright-core'
import { describeInBrowser, useBrowser } from '../support/browser.ts'
import { openForms } from '../support/formPages.ts'
import { createRow, createRows } from '../support/rows.ts'
import { makeKey, type TestKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const withRights = (...rights: string[]) => makeKey({ rights: '', addresses: rights.join('\n') })
/** Asks for absences of employee 1; finds colleagues only in a view. */
const employee = withRights(
  'read Directory',
  'read Employees?Id=1',
  'read Absences?EmployeeId=1',
  'create Absences?EmployeeId=1&Status=Requested&fields=Type,Reason,Start,End,Period',
)
const planner = withRights('read Directory', 'read Absences', 'create Absences?Status=Requested&fields=EmployeeId,Type')
/** Sees names in two parts, and no whole one. */
const recorder = withRights('read Employees?fields=FirstName,LastName', 'create Absences?fields=EmployeeId')
const sender = withRights('create Absences?Status=Requested&fields=EmployeeId,Type')
const whole = makeKey()
const roles = 'view Directory Employees?EmploymentEnd=&fields=DisplayName,JobTitle,Department'
const keys = [employee, planner, recorder, sender, whole].map(({ record }) => record)

describeInBrowser('forms of /explore for new rows', () => {
  const server = useServer({ keys, roles })
  const browser = useBrowser()
  beforeAll(async () => {
    await createRow(server, '/Companies', { Name: 'Acme' })
    await createRows(server, '/Employees', [
      { FirstName: 'Ada', LastName: 'Byron', JobTitle: 'Analyst', CompanyId: 1 },
      { FirstName: 'Grace', LastName: 'Murray', JobTitle: 'Admiral', CompanyId: 1 },
      { FirstName: 'Grace', LastName: 'Kelly', JobTitle: 'Actress', CompanyId: 1 },
      { FirstName: 'Mary', LastName: 'Kay', CompanyId: 1 },
    ])
  })
  const open = ({ text }: TestKey, hash: string, options?: BrowserContextOptions) =>
    openForms(browser, server, text, hash, options)
  const lastAbsence = async () => (await server.get('/Absences?sort=-Id&PageSize=5')).body[0]

  test('a form has the fields that the right lets the key set, shows values that the right sets, and then opens the new row', async () => {
    const forms = await open(employee, '#/Absences')
    await forms.press('New absence')
    await forms.panel.getByText('Ada Byron').waitFor()
    expect(await forms.panel.locator('dt').allInnerTexts()).toEqual(['Employee', 'Status'])
    expect(await forms.panel.locator('dd').allInnerTexts()).toEqual(['Ada Byron', 'Requested'])
    expect(await forms.panel.locator('label').allInnerTexts()).toEqual([
      ...['Type', 'Reason', 'Start', 'End', 'Period prefered', 'Period days', 'Period hours'],
    ])
    expect(await forms.violations()).toEqual([])
    await forms.press('Create')
    await forms.panel.getByText('Nothing is filled in yet.').waitFor()
    await forms.field('Type').fill('Holiday')
    await forms.field('Start').fill('2026-03-02')
    await forms.field('Start: time, UTC').fill('09:30')
    await forms.field('End').fill('2026-03-04')
    expect(await forms.field('End: time, UTC').inputValue()).toBe('23:59')
    await forms.field('Period days').fill('4.5')
    await forms.press('Create')
    await forms.panel.locator('dd', { hasText: 'Holiday' }).waitFor()
    await forms.message('was created')
    const { id, ...created } = await lastAbsence()
    expect(await forms.page.evaluate('location.hash')).toBe(`#/Absences?row=${id}`)
    expect(created).toEqual({
      ...{ status: 'Requested', employeeId: 1, employee: 'Ada Byron', type: 'Holiday', reason: null },
      ...{ start: '2026-03-02T09:30:00Z', end: '2026-03-04T23:59:00Z', period: { prefered: null, days: 4.5, hours: null } },
    })
    await forms.page.locator('tbody tr', { hasText: 'Holiday' }).waitFor()
    expect(forms.complaints).toEqual([])
  })

  test('a reader finds a referenced row by a part of its name, by keyboard, even if the key may read only a view', async () => {
    const forms = await open(planner, '#/Absences?form=new')
    const field = forms.panel.getByRole('combobox', { name: 'Employee' })
    await field.pressSequentially('grace')
    const options = forms.panel.getByRole('listbox').getByRole('option')
    await options.nth(1).waitFor()
    expect(await options.allInnerTexts()).toEqual(['Grace Kelly Actress', 'Grace Murray Admiral'])
    expect(await options.nth(0).getAttribute('aria-selected')).toBe('true')
    expect(await forms.violations()).toEqual([])
    await field.press('ArrowDown')
    expect(await field.getAttribute('aria-activedescendant')).toBe((await options.nth(1).getAttribute('id')) as string)
    await field.press('Enter')
    expect(await field.inputValue()).toBe('Grace Murray')
    expect(await options.count()).toBe(0)
    await forms.press('Create')
    await forms.message('was created')
    expect((await lastAbsence()).employeeId).toBe(2)
    expect(forms.complaints).toEqual([])
  })

  test('a reader finds a referenced row by each part of its name if the key reads no property with the whole name', async () => {
    const forms = await open(recorder, '#/Absences')
    const field = forms.panel.getByRole('combobox', { name: 'Employee' })
    const options = forms.panel.getByRole('listbox').getByRole('option')
    for (const [part, name] of [
      ['murr', 'Grace Murray id 2'],
      ['mary', 'Mary Kay id 4'],
    ] as const) {
      await field.fill(part)
      await options.filter({ hasText: name }).waitFor()
      expect(await options.allInnerTexts()).toEqual([name])
    }
  })

  test('a form says if no row has the typed name, and does not save a name that was not chosen from the list', async () => {
    const forms = await open(planner, '#/Absences?form=new')
    const field = forms.panel.getByRole('combobox', { name: 'Employee' })
    await field.pressSequentially('nobody')
    await forms.message('No row has such a name.')
    await forms.press('Create')
    await forms.panel.getByText('Employee: choose a row of the list.').waitFor()
    await forms.focusOn('form-EmployeeId')
    expect(await field.inputValue()).toBe('nobody')
  })

  test('with a key that may read nothing, a form has a field for the id, and says that the row was created', async () => {
    const forms = await open(sender, '#/Absences')
    await forms.page.getByText('You may create rows here, and read none.').waitFor()
    await forms.field('Employee').fill('3')
    await forms.press('Create')
    await forms.message(/^Absence \d+ was created\. You may not read it\./)
    expect((await lastAbsence()).employeeId).toBe(3)
    await forms.press('New absence')
    await forms.field('Employee').fill('99')
    await forms.press('Create')
    await forms.panel.getByText('EmployeeId names no Employee: there is none with id 99.').waitFor()
  })

  test('the list of rows below a field at the lower edge of the panel is scrolled into view', async () => {
    const forms = await open(planner, '#/Absences?form=new')
    await forms.page.setViewportSize({ width: 1280, height: 160 })
    await forms.panel.getByRole('combobox', { name: 'Employee' }).pressSequentially('grace')
    const list = forms.panel.getByRole('listbox')
    await list.waitFor()
    const bottoms = [list, forms.panel].map((part) => part.evaluate((element) => element.getBoundingClientRect().bottom))
    const [listBottom, panelBottom] = await Promise.all(bottoms)
    expect(listBottom).toBeLessThanOrEqual(panelBottom as number)
  })

  test('the buttons of a form and its message are visible without scrolling, also if the form is longer than the window', async () => {
    const forms = await open(employee, '#/Absences?form=new')
    await forms.page.setViewportSize({ width: 1280, height: 500 })
    const bottomOf = (part: Locator) => part.evaluate((element) => element.getBoundingClientRect().bottom)
    const panelBottom = await bottomOf(forms.panel)
    expect(await bottomOf(forms.button('Create'))).toBeLessThan(panelBottom)
    await forms.press('Create')
    await forms.panel.getByText('Nothing is filled in yet.').waitFor()
    expect(await bottomOf(forms.panel.getByRole('alert'))).toBeLessThan(panelBottom)
    expect(await bottomOf(forms.button('Create'))).toBeLessThan(panelBottom)
  })

  test('errors are shown at their fields, and the first field with an error gets the focus', async () => {
    const forms = await open(employee, '#/Absences?form=new')
    await forms.field('Type').fill('x'.repeat(101))
    await forms.field('Period days').fill('many')
    await forms.press('Create')
    await forms.panel.getByText('Type has 101 characters, and may have 100: shorten it.').waitFor()
    await forms.panel.getByText('Write a number, such as 4.5.').waitFor()
    await forms.focusOn('form-Type')
    await forms.field('Type').fill('Holiday')
    await forms.field('Start').fill('2026-03-02')
    await forms.field('End').fill('2026-03-01')
    await forms.field('Period days').fill('-1')
    await forms.field('Period hours').fill('-2')
    await forms.press('Create')
    await forms.panel.getByText('End must not be before Start.').waitFor()
    expect(await forms.panel.locator('[aria-invalid]').evaluateAll((all) => all.map(({ id }) => id))).toEqual([
      ...['form-End', 'form-Period.Days', 'form-Period.Hours'],
    ])
    await forms.focusOn('form-End')
    expect(await forms.violations()).toEqual([])
  })

  test.each([
    ['de-DE', '1234,5', 1234.5],
    ['de-DE', '4.5', 4.5],
    ['de-DE', '1.234,50', 1234.5],
    ['fr-FR', '1 234,5', 1234.5],
    ['en-GB', '0.00000001', 1e-8],
  ])('a decimal is read in the language of the browser: %s %s', async (locale, text, days) => {
    const forms = await open(employee, '#/Absences?form=new', { locale })
    await forms.field('Period days').fill(text)
    await forms.press('Create')
    await forms.message('was created')
    expect((await lastAbsence()).period.days).toBe(days)
  })

  test('a decimal is sent with all its digits, and the form asks about a number that can be read in two ways', async () => {
    const forms = await open(employee, '#/Absences?form=new', { locale: 'de-DE' })
    await forms.field('Period days').fill('1.234')
    await forms.press('Create')
    await forms.panel.getByText('Is this 1234, or 1,2340? Write it so.').waitFor()
    await forms.field('Period days').fill('1234567890,12345678')
    await forms.press('Create')
    await forms.message('was created')
    expect((await server.get('/Absences?sort=-Id&PageSize=5')).text).toContain('"days":1234567890.12345678')
  })

  test('a draft is restored after a reload and after another row was opened, but not after Discard', async () => {
    const forms = await open(employee, '#/Absences?form=new')
    await forms.field('Reason').fill('To be kept')
    await forms.page.reload()
    await forms.panel.waitFor()
    expect(await forms.field('Reason').inputValue()).toBe('To be kept')
    await forms.press('Close')
    await forms.message('What you typed is kept until you close this tab.')
    await forms.page.locator('tbody tr').first().click()
    await forms.panel.locator('dl').first().waitFor()
    await forms.press('New absence (draft)')
    expect(await forms.field('Reason').inputValue()).toBe('To be kept')
    await forms.press('Discard')
    await forms.press('New absence')
    expect(await forms.field('Reason').inputValue()).toBe('')
  })

  test('a discarded draft can be restored by Undo', async () => {
    const forms = await open(employee, '#/Absences?form=new')
    await forms.field('Reason').fill('Not to be lost')
    await forms.press('Discard')
    await forms.press('Undo')
    await forms.press('New absence (draft)')
    expect(await forms.field('Reason').inputValue()).toBe('Not to be lost')
  })

  test('a tab keeps 50 drafts, and forgets the oldest one for a new one', async () => {
    const forms = await open(employee, '#/Absences')
    await forms.page.evaluate(`
      const ids = Array.from({ length: 50 }, (_, place) => 'draft ' + place)
      for (const id of ids) sessionStorage.setItem('roster.draft.' + id, '{}')
      sessionStorage.setItem('roster.drafts', JSON.stringify(ids))`)
    await forms.press('New absence')
    await forms.field('Reason').fill('The newest')
    const kept = (await forms.page.evaluate(
      `Object.keys(sessionStorage).filter((name) => name.startsWith('roster.draft.'))`,
    )) as string[]
    expect([kept.length, kept.includes('roster.draft.draft 0'), kept.includes('roster.draft.draft 1')]).toEqual([50, false, true])
  })

  test('a date-time is entered in the zone that the reader has chosen', async () => {
    const forms = await open(employee, '#/Absences?form=new', { timezoneId: 'America/New_York' })
    await forms.page.getByRole('contentinfo').getByRole('combobox').selectOption({ index: 1 })
    await forms.field('Start').fill('2026-07-01')
    await forms.field('Start: time, New York').fill('09:30')
    await forms.press('Create')
    await forms.message('was created')
    expect((await lastAbsence()).start).toBe('2026-07-01T13:30:00Z')
  })
})
