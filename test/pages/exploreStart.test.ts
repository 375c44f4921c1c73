import { beforeAll, beforeEach, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { describeInBrowser, useBrowser } from '../support/browser.ts'
import { useIssuer } from '../support/issuer.ts'
import { ROLES_FILE } from '../support/rolesFile.ts'
import { createRows } from '../support/rows.ts'
import { openSignedIn, signInSettings, TO_EXPLORE, violationsOf } from '../support/signInPages.ts'
import { useServer } from '../support/start.ts'

/** People with their groups. Ann and Bob report to Mia, Hal is in HR and has no manager, and no row is Nora's. */
const GROUPS = { mia: [], ann: [], hal: ['hr'], nora: [], rita: ['revisers'] }
type Person = keyof typeof GROUPS

/** Roles file in which revisers can take a decision back. */
const ROLES = `${ROLES_FILE}
role     reviser   when {groups} has revisers
  read   Absences
  update Absences?EmployeeId=!={me.Id}&Status=Requested&fields=Status becomes Status[]=Approved&Status[]=Declined
  update Absences?EmployeeId=!={me.Id}&Status[]=Approved&Status[]=Declined&fields=Status becomes Status=Requested
`
const dayOf = (day: number) => new Date(Date.UTC(2026, 2, day)).toISOString()

describeInBrowser('The start page of /explore', () => {
  const issuer = useIssuer(TO_EXPLORE)
  const server = useServer(() => ({ environment: signInSettings(issuer), roles: ROLES }))
  const browser = useBrowser()
  beforeAll(async () => {
    await createRows(server, '/Companies', [{ Name: 'Acme' }])
    const employee = { CompanyId: 1, JobTitle: 'Engineer' }
    await createRows(server, '/Employees', [
      { ...employee, FirstName: 'Mia', LastName: 'Lee', WorkEmail: 'mia@acme.example', JobTitle: 'Head' },
      { ...employee, FirstName: 'Ann', LastName: 'Ray', WorkEmail: 'ann@acme.example', ManagerId: 1 },
      { ...employee, FirstName: 'Bob', LastName: 'Orr', WorkEmail: 'bob@acme.example', ManagerId: 1 },
      { ...employee, FirstName: 'Hal', LastName: 'Fox', WorkEmail: 'hal@acme.example' },
      { ...employee, FirstName: 'Rita', LastName: 'Moe', WorkEmail: 'rita@acme.example' },
    ])
    for (const [name, groups] of Object.entries(GROUPS)) {
      const email = `${name}@acme.example`
      await issuer.addPerson({ sub: name, email, email_verified: true, groups })
    }
  })
  beforeEach(async () => {
    await server.sql`delete from absence`
    await server.sql`alter table absence alter column id restart`
    await createRows(server, '/Absences', [
      {
        EmployeeId: 2,
        Status: 'Requested',
        Type: 'Holiday',
        Reason: 'Annual leave',
        ...{ Start: dayOf(9), End: dayOf(13), Period: { Prefered: 'Days', Days: 5 } },
      },
      { EmployeeId: 3, Status: 'Requested', Type: 'Training', Start: dayOf(2), End: dayOf(3) },
      { EmployeeId: 2, Status: 'Approved', Type: 'Holiday', Start: dayOf(20), End: dayOf(21) },
      { EmployeeId: 1, Status: 'Requested', Type: 'Holiday', Start: dayOf(5), End: dayOf(6) },
      { EmployeeId: 4, Status: 'Requested', Type: 'Sickness', Start: dayOf(1), End: dayOf(2) },
    ])
  })

  const open = (person: Person, hash = '') => openSignedIn(browser, server.url, person, hash)
  const part = (page: Page, heading: string) =>
    page.locator('section', { has: page.getByRole('heading', { name: heading, exact: false }) })
  const itemsOf = async (page: Page, heading: string) => {
    await part(page, heading).locator('li').first().waitFor()
    const items = await part(page, heading).locator('li').allInnerTexts()
    return items.map((text) => text.replaceAll(/\s+/g, ' ').trim())
  }
  const headingsOf = (page: Page) => page.locator('main h1, main h2').allInnerTexts()
  const tabsOf = (page: Page) => page.locator('nav a').allInnerTexts()
  const statusOf = async (id: number) => (await server.sql`select status from absence where id = ${id}`)[0]?.status

  test('the start page greets an employee by her name, and shows her record and her absences, the newest first', async () => {
    const { page, complaints } = await open('ann')
    await page.getByRole('heading', { name: 'Hello, Ann Ray' }).waitFor()
    expect(await itemsOf(page, 'My absences')).toEqual([
      'Holiday 20 Mar 2026 – 21 Mar 2026 Approved',
      expect.stringMatching(/^Holiday 9 Mar 2026 – 13 Mar 2026 Annual leave 5\.00 days Requested Cancel it$/),
    ])
    expect(await headingsOf(page)).toEqual(['Hello, Ann Ray', 'My absences 2', 'My record', 'More'])
    expect(await part(page, 'My absences').locator('.states a').allInnerTexts()).toEqual(['Approved 1', 'Requested 1'])
    expect(await part(page, 'My record').locator('dd', { hasText: 'Engineer' }).count()).toBe(1)
    expect(await tabsOf(page)).toEqual(['Start', 'Absences', 'Employees', 'Directory'])
    // Not the name from the sign-in, in which the last name may come first.
    await page.getByRole('banner').getByText('Ann Ray').waitFor()
    expect([await violationsOf(page), complaints]).toEqual([[], []])
  })

  test('a state on the start page links to the list of rows in this state, which describes its filters in words', async () => {
    const { page } = await open('mia')
    await part(page, 'My absences').getByRole('link', { name: 'Requested 1' }).click()
    await page.getByText('Only my absences; or absences of my team').waitFor()
    await page.locator('tbody tr').first().waitFor()
    expect(await page.locator('tbody tr').count()).toBe(1)
  })

  test('the start page leads an employee to the form for a new absence', async () => {
    const { page } = await open('ann')
    await part(page, 'My absences').getByRole('link', { name: 'New absence' }).click()
    await page.getByRole('heading', { name: 'New absence' }).waitFor()
    expect(await page.evaluate('location.hash')).toBe('#/Absences?form=new')
  })

  test('the start page shows a manager the requests of her reports first, and her own absences in another section', async () => {
    const { page, complaints, requests } = await open('mia')
    expect(await itemsOf(page, 'to decide')).toEqual([
      expect.stringMatching(/^Bob Orr 2 Mar 2026 – 3 Mar 2026 Training Approve ?Decline$/),
      expect.stringMatching(/^Ann Ray 9 Mar 2026 – 13 Mar 2026 Holiday Annual leave 5\.00 days Approve ?Decline$/),
    ])
    // The name is in her own row, which perhaps arrives later than the lists.
    await page.getByRole('heading', { name: 'Hello, Mia Lee' }).waitFor()
    expect(await headingsOf(page)).toEqual([
      ...['Hello, Mia Lee', 'Absences to decide 2', 'My absences 1', 'Absences of my team 3', 'My record', 'More'],
    ])
    await page.waitForLoadState('networkidle')
    // The document, the rights, and one request for each list or number.
    const asked = requests.map((url) => new URL(url)).filter(({ pathname }) => /^\/([A-Z]|openapi)/.test(pathname))
    expect(asked.length).toBeLessThanOrEqual(11)
    expect([await violationsOf(page), complaints]).toEqual([[], []])
  })

  test('the start page removes an approved request from the list, counts one less, and says what was done', async () => {
    const { page, complaints } = await open('mia')
    await part(page, 'to decide').getByRole('button', { name: 'Approve' }).first().click()
    await part(page, 'to decide').getByRole('button', { name: 'Yes, approve' }).first().click()
    await page.getByRole('heading', { name: 'Absences to decide 1' }).waitFor()
    await page.getByText('Bob Orr: Status is “Approved” now.').waitFor()
    expect(await itemsOf(page, 'to decide')).toEqual([expect.stringMatching(/^Ann Ray/)])
    expect(await statusOf(2)).toBe('Approved')
    // No right of hers allows the way back.
    expect(await page.getByRole('button', { name: 'Undo' }).count()).toBe(0)
    await part(page, 'to decide').getByRole('button', { name: 'Decline' }).click()
    await part(page, 'to decide').getByRole('button', { name: 'Yes, decline' }).click()
    await page.getByText('Nothing to decide. You will find requests of your reports here.').waitFor()
    expect(await statusOf(1)).toBe('Declined')
    expect([await violationsOf(page), complaints]).toEqual([[], []])
  })

  test('the start page keeps the buttons of a request next to its values on a wide screen, even next to long values', async () => {
    const { page } = await open('mia')
    await page.setViewportSize({ width: 800, height: 800 })
    const item = part(page, 'to decide').locator('li', { hasText: 'Ann Ray' })
    const facts = await item.locator('.facts').boundingBox()
    const buttons = await item.getByRole('group').boundingBox()
    expect(buttons?.x).toBeGreaterThanOrEqual((facts?.x ?? 0) + (facts?.width ?? 0))
    expect(buttons?.y).toBeLessThan((facts?.y ?? 0) + (facts?.height ?? 0))
  })

  test('the start page lets a manager decide by keyboard, and moves the focus to the next request', async () => {
    const { page } = await open('mia')
    await itemsOf(page, 'to decide')
    const focused = () => page.evaluate('document.activeElement.innerText')
    // An element gets the focus a moment after it is shown.
    const focusOn = (hasText: string | RegExp) => page.locator(':focus', { hasText }).waitFor()
    for (let presses = 0; presses < 40 && (await focused()) !== 'Approve'; presses++) await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByText('You cannot take this back.').waitFor()
    // A second Enter, or one that is held, decides nothing.
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    await focusOn(/^Not now$/)
    await page.keyboard.press('Enter')
    await focusOn(/^Approve$/)
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    await focusOn(/^Yes, approve$/)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Absences to decide 1' }).waitFor()
    await focusOn(/^Ann Ray$/)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByText('Nothing to decide.').waitFor()
    await focusOn(/^Absences to decide/)
    expect([await statusOf(2), await statusOf(1)]).toEqual(['Approved', 'Approved'])
  })

  test('the start page links to all absences that a manager may decide, with a filter chip that can be removed', async () => {
    const { page, complaints } = await open('mia')
    await page.getByRole('link', { name: 'All absences to decide' }).click()
    await page.getByText('that I may decide').waitFor()
    await page.locator('tbody tr').nth(1).waitFor()
    expect(await page.locator('tbody tr').count()).toBe(2)
    expect(await page.evaluate('decodeURIComponent(location.hash)')).toContain('may=update(Status)')
    expect(await violationsOf(page)).toEqual([])
    await page.reload()
    await page.getByText('that I may decide').waitFor()
    await page.getByRole('button', { name: 'Remove that I may decide' }).click()
    await page.getByText('that I may decide').waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
  })

  test('the start page opens a request in the list of all requests to decide', async () => {
    const { page } = await open('mia')
    await part(page, 'to decide').getByRole('link', { name: 'Ann Ray' }).click()
    await page.getByRole('heading', { name: /^Absence 1/ }).waitFor()
    await page.getByRole('complementary').getByRole('button', { name: 'Approve' }).waitFor()
    await page.getByRole('link', { name: 'Start' }).click()
    await page.getByRole('heading', { name: 'Absences to decide 2' }).waitFor()
  })

  test('the start page shows a person in HR all requests but her own, and every collection with its number of rows', async () => {
    const { page, complaints } = await open('hal')
    expect((await itemsOf(page, 'to decide')).map((text) => text.split(' ')[0])).toEqual(['Bob', 'Mia', 'Ann'])
    // Each number comes when its own request is answered, in any order.
    for (const text of ['Absences 5', 'Companies 1', 'Employees 5', 'Directory 5'])
      await part(page, 'More').getByText(text).waitFor()
    expect(await itemsOf(page, 'More')).toEqual(['Absences 5', 'Companies 1', 'Employees 5 New employee', 'Directory 5'])
    expect(await tabsOf(page)).toEqual(['Start', 'Absences', 'Companies', 'Employees', 'Directory'])
    expect([await violationsOf(page), complaints]).toEqual([[], []])
  })

  test('the start page tells a person without rights why she has none, and shows no sections', async () => {
    const { page } = await open('nora')
    await page.getByText('no row of Employees is yours').waitFor()
    expect([await tabsOf(page), await page.locator('section.part').count(), await violationsOf(page)]).toEqual([[], 0, []])
  })

  test('if two people decide about one request, the start page tells the second what the first has decided', async () => {
    const mia = (await open('mia')).page
    const hal = (await open('hal')).page
    await itemsOf(mia, 'to decide')
    await part(hal, 'to decide').locator('li', { hasText: 'Ann' }).getByRole('button', { name: 'Approve' }).click()
    await part(hal, 'to decide').locator('li', { hasText: 'Ann' }).getByRole('button', { name: 'Yes, approve' }).click()
    await hal.getByRole('heading', { name: 'Absences to decide 2' }).waitFor()
    await part(mia, 'to decide').locator('li', { hasText: 'Ann' }).getByRole('button', { name: 'Decline' }).click()
    await part(mia, 'to decide').locator('li', { hasText: 'Ann' }).getByRole('button', { name: 'Yes, decline' }).click()
    await mia.getByText('Somebody else was faster: Status is “Approved” now.').waitFor()
    await mia.getByRole('heading', { name: 'Absences to decide 1' }).waitFor()
    expect(await statusOf(1)).toBe('Approved')
  })

  test('the start page says so if a person loses a role meanwhile, and removes what she may no longer do', async () => {
    const { page } = await open('mia')
    await itemsOf(page, 'to decide')
    await server.sql`update employee set manager_id = null, manager_key = null`
    try {
      await part(page, 'to decide').getByRole('button', { name: 'Approve' }).first().click()
      await part(page, 'to decide').getByRole('button', { name: 'Yes, approve' }).first().click()
      await page.getByText('What you may do here has changed.').waitFor()
      await page.getByRole('heading', { name: 'to decide' }).waitFor({ state: 'detached' })
      expect(await headingsOf(page)).toEqual(['Hello, Mia Lee', 'My absences 1', 'My record', 'More'])
      expect(await statusOf(2)).toBe('Requested')
    } finally {
      await server.sql`
        update employee set manager_id = 1, manager_key = (select display_name_key from employee where id = 1) where id in (2, 3)`
    }
  })

  test('the start page reads its lists again when the reader comes back to the tab after a while', async () => {
    const { page } = await open('mia')
    await page.getByRole('heading', { name: 'Absences to decide 2' }).waitFor()
    await page.clock.install()
    await server.sql`update absence set status = 'Declined' where id = 2`
    const comeBack = () => page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`)
    await comeBack()
    await page.waitForLoadState('networkidle')
    expect(await itemsOf(page, 'to decide')).toHaveLength(2)
    await page.clock.fastForward(40_000)
    await comeBack()
    await page.getByRole('heading', { name: 'Absences to decide 1' }).waitFor()
  })

  test('the start page counts all rows by state, also if it shows only ten of them', async () => {
    const days = Array.from({ length: 12 }, (_, place) => ({ EmployeeId: 2, Status: 'Approved', Start: dayOf(100 + place) }))
    await createRows(server, '/Absences', days)
    const { page } = await open('ann')
    await part(page, 'My absences').getByRole('link', { name: 'Requested 1' }).waitFor()
    expect(await part(page, 'My absences').locator('.states a').allInnerTexts()).toEqual(['Approved 13', 'Requested 1'])
    expect(await itemsOf(page, 'My absences')).toHaveLength(10)
    await page.getByRole('link', { name: 'All my absences' }).click()
    await page.locator('tbody tr').nth(13).waitFor()
  })

  test('the start page takes a decision back by Undo if a right allows it', async () => {
    const { page } = await open('rita')
    await part(page, 'to decide').locator('li', { hasText: 'Bob' }).getByRole('button', { name: 'Decline' }).click()
    await page.getByText('Status is “Declined” now.').waitFor()
    expect(await statusOf(2)).toBe('Declined')
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Status is “Requested” again.').waitFor()
    expect(await statusOf(2)).toBe('Requested')
  })

  test('the start page shows the other sections if one cannot be loaded, and loads that section again on request', async () => {
    const { page } = await open('mia')
    await itemsOf(page, 'to decide')
    await page.route(/Absences\?may=/, (route) => route.abort())
    await page.reload()
    await part(page, 'to decide').getByText('The server does not answer.').waitFor()
    expect(await itemsOf(page, 'My absences')).toHaveLength(1)
    await page.unroute(/Absences\?may=/)
    await part(page, 'to decide').getByRole('button', { name: 'Ask now' }).click()
    expect(await itemsOf(page, 'to decide')).toHaveLength(2)
  })
})

const FEW_ROLES = `
me     Employees?WorkEmail={email}

role   writer   when {groups} has writers
  create Absences?EmployeeId={me.Id}&Status=Requested&fields=Type,Start,End
role   visitor  when {groups} has visitors
  read   Companies
role   lead     when {groups} has leads
  read   Employees?Id={me.Id}&fields=FirstName,LastName,ManagerId,WorkPhone
  read   Employees?ManagerId={me.Id}&fields=FirstName,LastName,ManagerId,WorkPhone
  update Employees?Id={me.Id}&fields=WorkPhone
`

describeInBrowser('The start page of /explore for people of few rights', () => {
  const issuer = useIssuer(TO_EXPLORE)
  const server = useServer(() => ({ environment: signInSettings(issuer), roles: FEW_ROLES }))
  const browser = useBrowser()
  beforeAll(async () => {
    await createRows(server, '/Companies', [{ Name: 'Acme' }])
    const names = ['Wim Vos', 'Vic Tor', 'Lea Der']
    for (const [place, name] of names.entries()) {
      const [FirstName = '', LastName = ''] = name.split(' ')
      const email = `${FirstName.toLowerCase()}@acme.example`
      await createRows(server, '/Employees', [{ FirstName, LastName, WorkEmail: email, WorkPhone: '1' }])
      const groups = [['writers'], ['visitors'], ['leads']][place]
      await issuer.addPerson({ sub: FirstName, email, email_verified: true, name: `${LastName}, ${FirstName}`, groups })
    }
    await server.patch('/Employees/1', { ManagerId: 3 })
  })
  const open = (person: string) => openSignedIn(browser, server.url, person)
  const tabsOf = (page: Page) => page.locator('nav a').allInnerTexts()

  test('the start page links a person who may only create rows to the form for a new row', async () => {
    const { page, complaints } = await open('Wim')
    await page.getByRole('heading', { name: 'What you may see' }).waitFor()
    expect([await tabsOf(page), await violationsOf(page)]).toEqual([['Start', 'Absences'], []])
    await page.locator('main').getByRole('link', { name: 'New absence' }).click()
    await page.getByRole('heading', { name: 'New absence' }).waitFor()
    expect(complaints).toEqual([])
  })

  test('the start page links to the only collection that a person may read', async () => {
    const { page, complaints } = await open('Vic')
    await page.locator('.tiles').getByText('Companies 1').waitFor()
    expect([await tabsOf(page), await violationsOf(page), complaints]).toEqual([['Start', 'Companies'], [], []])
  })

  test('the start page shows names with the first name first, also if the person may not read the display name', async () => {
    const { page } = await open('Lea')
    await page.getByRole('heading', { name: 'Hello, Lea Der' }).waitFor()
    await page.getByRole('banner').getByText('Lea Der').waitFor()
    await page.getByRole('link', { name: 'Wim Vos' }).waitFor()
    expect(await page.locator('main h2').allInnerTexts()).toEqual(['My team 1', 'My record'])
  })

  test('the start page lets a person change her own record', async () => {
    const { page } = await open('Lea')
    await page.getByRole('link', { name: 'Change' }).click()
    await page.getByRole('complementary').getByLabel('Work phone').fill('030 123')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    await page.getByRole('link', { name: 'Start' }).click()
    await page.locator('.record').getByText('030 123').waitFor()
    expect(await violationsOf(page)).toEqual([])
  })
})
