import { beforeAll, expect, test } from 'bun:test'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { describeInBrowser, useBrowser } from '../support/browser.ts'
import { createRows } from '../support/rows.ts'
import { makeKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const withRights = (...rights: string[]) => makeKey({ rights: '', addresses: rights.join('\n') })
/** Approved absences without reasons, and the employees of one company. */
const calendar = withRights(
  'read Employees?CompanyId=1&fields=FirstName,ManagerId,CompanyId',
  'read Absences?Status=Approved&Type[]=Holiday&Type[]=Remote&fields=EmployeeId,Employee,Start,End',
)
const sender = withRights('create Absences?Status=Requested&fields=EmployeeId,Type,Start,End')
const names = withRights('read Companies?fields=Name')
const outdated = withRights('read Absences?Colour=Red')
const viewer = withRights('read Directory?Department=IT', 'read Absences?fields=EmployeeId,Type')
const roles = 'view Directory Employees?EmploymentEnd=&fields=DisplayName,Department,ManagerId,Manager'
const keys = [calendar, sender, names, outdated, viewer].map(({ record }) => record)

describeInBrowser('/explore with a key of few rights', () => {
  const server = useServer({ keys, roles })
  const browser = useBrowser()
  beforeAll(async () => {
    await createRows(server, '/Companies', [{ Name: 'Acme' }, { Name: 'Other' }])
    await createRows(server, '/Employees', [
      { FirstName: 'Ada', CompanyId: 1 },
      { FirstName: 'Grace', CompanyId: 1, ManagerId: 1 },
      { FirstName: 'Mary', CompanyId: 2 },
      { FirstName: 'Edith', CompanyId: 1, ManagerId: 3 },
    ])
    await createRows(server, '/Absences', [
      { EmployeeId: 1, Status: 'Approved', Type: 'Holiday', Start: '2026-01-05T09:00:00Z' },
      { EmployeeId: 1, Status: 'Requested', Type: 'Holiday', Reason: 'secret' },
      { EmployeeId: 3, Status: 'Approved', Type: 'Remote', Reason: 'secret' },
      { EmployeeId: 3, Status: 'Approved', Type: 'Sickness', Reason: 'secret' },
    ])
  })

  /** Opens the page with a key, and returns it with the statuses of refused requests. */
  async function open(text: string, hash = '') {
    const { page, complaints } = await browser.open(`${server.url}/explore#key=${text}`)
    page.setDefaultTimeout(60_000)
    const refused: string[] = []
    page.on('response', (answer) => {
      if (answer.status() >= 400) refused.push(`${answer.status()} ${answer.url()}`)
    })
    if (hash !== '') await page.goto(`${server.url}/explore${hash}`)
    return { page, complaints, refused }
  }
  const linksOf = (page: Page) =>
    page.locator('main a, aside a').evaluateAll((links) => links.map((link) => link.getAttribute('href')))

  test('/explore opens the first resource that the key may read, and has no links to resources that it may not read', async () => {
    const { page, complaints, refused } = await open(calendar.text)
    await page.getByRole('heading', { name: 'Absences' }).waitFor()
    await page.locator('tbody tr').nth(1).waitFor()
    expect(await page.locator('nav a').allInnerTexts()).toEqual(['Absences', 'Employees'])
    await page.getByText('Only Status is Approved, Type any of Holiday, Remote').waitFor()
    expect(await page.locator('th').allInnerTexts()).toEqual(['Id', 'Employee', 'Start UTC ↓', 'End UTC'])
    expect(await page.locator('tbody tr').allInnerTexts()).toHaveLength(2)
    // The employee of the other absence may not be read.
    await page.locator('tbody a', { hasText: 'Ada' }).waitFor()
    expect((await linksOf(page)).filter((href) => href?.includes('Employees'))).toEqual(['#/Employees?Id=1&row=1'])
    await page.getByRole('button', { name: '+ Filter' }).click()
    expect(await page.getByLabel('Property').locator('option').allInnerTexts()).toEqual([
      'Id',
      'Employee id',
      'Employee',
      'Start',
      'End',
      'Employee: First name',
      'Employee: Company id',
      'Employee: Manager id',
    ])
    await page.keyboard.press('Escape')
    await page.evaluate(axe.source)
    expect(((await page.evaluate('axe.run()')) as axe.AxeResults).violations).toEqual([])
    expect([complaints, refused]).toEqual([[], []])
  })

  test('D105: /explore shows a named view as a table without a history, and links to no entity that the key may not read', async () => {
    await server.sql`update employee set department = 'IT' where id = 2`
    const { page, complaints, refused } = await open(viewer.text, '#/Directory')
    await page.getByRole('heading', { name: 'Directory' }).waitFor()
    await page.locator('tbody tr').nth(0).waitFor()
    expect(await page.locator('nav a').allInnerTexts()).toEqual(['Absences', 'Directory'])
    expect(await page.locator('th').allInnerTexts()).toEqual(['Id', 'Display name', 'Department', 'Manager'])
    await page.getByText('Only Department is IT').waitFor()
    await page.locator('tbody tr').nth(0).click()
    await page.getByRole('heading', { name: 'Directory 2' }).waitFor()
    await page.waitForLoadState('networkidle')
    expect(await page.getByText('Changes').count()).toBe(0)
    expect((await linksOf(page)).filter((href) => href?.includes('Employees'))).toEqual([])
    expect([complaints, refused]).toEqual([[], []])
    await server.sql`update employee set department = null`
  })

  test('/explore links a reference to the row of a view if the key may read the view, but not the entity', async () => {
    await server.sql`update employee set department = 'IT' where id in (1, 2)`
    const { page, complaints, refused } = await open(viewer.text, '#/Directory')
    // Ada is in the department, and the manager of Edith is not.
    await page.locator('tbody a', { hasText: 'Ada' }).waitFor()
    expect((await linksOf(page)).filter((href) => href?.includes('Id='))).toEqual(['#/Directory?Id=1&row=1'])
    await page.goto(`${server.url}/explore#/Absences?row=1`)
    await page.locator('aside').getByRole('link', { name: 'Open employee' }).waitFor()
    await page.locator('tbody a[href="#/Directory?Id=1&row=1"]').first().waitFor()
    await page.locator('aside').getByRole('link', { name: 'Open employee' }).click()
    await page.getByRole('heading', { name: 'Directory 1' }).waitFor()
    // Each of the two comes with its own answer.
    await page.locator('aside li', { hasText: 'Absences of this employee 2' }).waitFor()
    await page.locator('aside li', { hasText: 'Directory of this employee, as manager' }).waitFor()
    expect(await page.locator('aside li a').allInnerTexts()).toEqual([
      'Absences of this employee',
      'Directory of this employee, as manager',
    ])
    await page.goto(`${server.url}/explore#/Absences?row=3`)
    await page.getByRole('heading', { name: 'Absence 3' }).waitFor()
    await page.waitForLoadState('networkidle')
    expect(await page.locator('aside').getByRole('link', { name: 'Open employee' }).count()).toBe(0)
    expect([complaints, refused]).toEqual([[], []])
    await server.sql`update employee set department = null`
  })

  test('/explore opens a row with links only to rows that the key may read', async () => {
    const { page, complaints, refused } = await open(calendar.text, '#/Absences?row=1')
    await page.getByRole('link', { name: 'Open employee' }).waitFor()
    await page.keyboard.press('Escape')
    await page.locator('tbody tr').nth(1).click()
    await page.getByRole('heading', { name: 'Absence 3' }).waitFor()
    await page.waitForLoadState('networkidle')
    expect(await page.getByRole('link', { name: 'Open employee' }).count()).toBe(0)
    // The page shows no history of absences, since a change can move a row out of the rows that the key reads.
    expect(await page.getByText('Changes').count()).toBe(0)

    await page.goto(`${server.url}/explore#/Employees?row=2`)
    await page.getByRole('link', { name: 'Open manager' }).waitFor()
    await page.waitForLoadState('networkidle')
    // She has absences, but the key may read none of them: a count of 0 would say that she has none.
    expect(await page.locator('aside li a').allInnerTexts()).toEqual(['Open manager'])
    expect([complaints, refused]).toEqual([[], []])
  })

  test('/explore offers sums only of properties that the key may read', async () => {
    const { page, complaints, refused } = await open(calendar.text, '#/Absences?view=summary')
    await page.locator('svg').waitFor()
    const measures = await page.getByLabel('Show').locator('option').allInnerTexts()
    expect(measures).toEqual(['count'])
    expect([complaints, refused]).toEqual([[], []])
  })

  test('/explore says that a linked summary uses a related property which the key may not read', async () => {
    const { page } = await open(calendar.text, '#/Absences?view=summary&by=EmployeeId.CompanyId.Name')
    await page.getByText(/You may not read Companies, to which CompanyId leads\.$/).waitFor()
    expect(await page.locator('svg, table').count()).toBe(0)
  })

  test('/explore says which resource the key may not read, and shows the others', async () => {
    const { page } = await open(names.text, '#/Absences?Status=Approved')
    await page.getByText('There is no resource Absences, or this key may not read it.').waitFor()
    await page.getByRole('navigation').getByRole('link', { name: 'Companies' }).click()
    await page.getByText('Acme').waitFor()
    // An entity without row filters has the history of its rows.
    await page.getByText('Acme').click()
    await page.getByRole('heading', { name: 'Changes' }).waitFor()
  })

  test('/explore says that a key may read nothing, and lists its other rights', async () => {
    const { page } = await open(sender.text)
    await page.getByText('This key may read nothing here. It may:').waitFor()
    expect(await page.locator('main li').allInnerTexts()).toEqual([sender.record.addresses as string])
    expect(await page.locator('nav a').allInnerTexts()).toEqual(['Absences'])
  })

  test('/explore says why a key has lost its rights', async () => {
    const { page } = await open(outdated.text)
    await page.getByText(/^The key has no rights any more: .* has no parameter "Colour"/).waitFor()
  })

  test('/explore opens a resource that the new key may read after the old key was forgotten', async () => {
    const { page } = await open(names.text)
    await page.getByText('Acme').waitFor()
    await page.getByRole('button', { name: 'Forget' }).click()
    await page.getByLabel('Key').fill(calendar.text)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Absences' }).waitFor()
    expect(await page.locator('nav a').allInnerTexts()).toEqual(['Absences', 'Employees'])
  })

  test('/explore says that the key was revoked while the page was open', async () => {
    const { page } = await open(names.text)
    await page.getByText('Acme').waitFor()
    await server.replaceKeys(keys.filter(({ id }) => id !== names.record.id))
    await page.locator('th').getByRole('button', { name: 'Name' }).click()
    await page.getByText('This key is not known here, or was revoked.').waitFor()
    await server.replaceKeys(keys)
  })
})
