import { beforeAll, describe, expect, test } from 'bun:test'
import axe from 'axe-core'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { describeInBrowser, useBrowser } from '../support/browser.ts'
import { until } from '../support/process.ts'
import { createRows } from '../support/rows.ts'
import { KEY } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const AMSTERDAM = { timezoneId: 'Europe/Amsterdam' }
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
/** Runs in the page: returns the names of a chart's series with their colours. */
const LEGEND = `[...document.querySelectorAll('.legend span')].map((one) =>
  [one.textContent, getComputedStyle(one.querySelector('i')).backgroundColor])`
const STATES = ['Requested', 'approved', 'Declined', 'Cancelled', 'On hold', null]

describeInBrowser('The look of /explore in Chromium', () => {
  const server = useServer()
  const browser = useBrowser()
  beforeAll(async () => {
    await createRows(server, '/Companies', [{ Name: 'Acme' }, { Name: 'أحمد زويل' }, { Name: 'W'.repeat(40) }])
    await createRows(server, '/Employees', [
      { FirstName: 'Ada', LastName: 'Byron', CompanyId: 1, Status: 'Current' },
      { FirstName: 'Grace', LastName: 'Murray', CompanyId: 1, ManagerId: 1, Department: 'Approved' },
    ])
    const absences = Array.from({ length: 60 }, (_, place) => ({
      EmployeeId: 1 + (place % 2),
      Status: STATES[place % STATES.length],
      Type: `Type ${place % 4}`,
      // Midnight in Amsterdam, in winter and in summer.
      Start: new Date(Date.UTC(2026, place < 30 ? 0 : 6, 1 + (place % 30), place < 30 ? 23 : 22)).toISOString(),
      Period: { Days: place / 4, Prefered: place % 2 === 0 ? 'Days' : 'Hours' },
    }))
    await createRows(server, '/Absences', absences)
  })

  /** Opens a view in a new window, and waits for an element. */
  async function open(hash: string, part: string, options: BrowserContextOptions = {}) {
    const { page, complaints } = await browser.open(`${server.url}/explore#key=${KEY}`, { locale: 'en-GB', ...options })
    page.setDefaultTimeout(60_000)
    await page.locator('h1').first().waitFor()
    await page.goto(`${server.url}/explore${hash}`)
    await page.locator(part).first().waitFor()
    return { page, complaints }
  }
  const hashOf = async (page: Page) => decodeURIComponent(new URL(page.url()).hash)

  test('A state has the colour of its meaning in the table, the open row and the chart, in upper or lower case', async () => {
    const { page } = await open('#/Absences?row=2&sort=Id', 'aside .pill')
    await page.locator('tbody tr').first().waitFor()
    const looks = await page
      .locator('tbody tr:nth-child(-n+6) td:nth-child(2)')
      .evaluateAll((cells) => cells.map((cell) => [cell.textContent, cell.querySelector('.pill')?.className.trim()]))
    expect(looks).toEqual([
      ['Requested', 'pill waits'],
      ['approved', 'pill good'],
      ['Declined', 'pill bad'],
      ['Cancelled', 'pill ended'],
      ['On hold', 'pill'],
      ['–', undefined],
    ])
    expect(await page.locator('aside .pill').first().getAttribute('class')).toContain('good')
    const dot = (await page.evaluate(`getComputedStyle(document.querySelector('.pill i')).backgroundColor`)) as string
    await page.goto(`${server.url}/explore#/Absences?view=summary&by=month(Start)&and=Status`)
    await page.locator('.legend i').first().waitFor()
    const legend = Object.fromEntries(await legendOf(page))
    const colourOf = (name: string) =>
      page.evaluate(`(() => {
        const probe = document.body.appendChild(document.createElement('i'))
        probe.style.background = 'var(--${name})'
        const { backgroundColor } = getComputedStyle(probe)
        probe.remove()
        return backgroundColor
      })()`) as Promise<string>
    expect([legend.approved, legend.Declined, legend['On hold']]).toEqual([await colourOf('good'), await colourOf('bad'), dot])
  })

  const legendOf = (page: Page) => page.evaluate(LEGEND) as Promise<[name: string, colour: string][]>

  test('A value of a chart keeps its colour when other values are filtered out, and two values never have the same colour', async () => {
    const { page } = await open('#/Absences?view=summary&by=month(Start)&and=Type', '.legend i')
    const all = await legendOf(page)
    expect(new Set(all.map(([, colour]) => colour)).size).toBe(4)
    await page.goto(`${server.url}/explore#/Absences?Type=!=Type 0&Type=!=Type 1&view=summary&by=month(Start)&and=Type`)
    await page.locator('.legend span').nth(2).waitFor({ state: 'detached' })
    const fewer = await legendOf(page)
    expect(fewer.map(([name]) => name).sort()).toEqual(['Type 2', 'Type 3'])
    expect(all).toEqual(expect.arrayContaining([...fewer]))
  })

  test('Only properties with listed values are shown as pills, not names, ids or other texts', async () => {
    const { page } = await open('#/Employees', 'tbody tr')
    expect(await page.locator('.pill').allTextContents()).toEqual(['Current'])
  })

  describe('in the reader’s time zone', () => {
    const row = (page: Page) => page.locator('tbody tr').first().locator('td').allInnerTexts()
    const choose = (page: Page, label: string) => page.getByLabel('Times in').selectOption({ label })
    const OWN = 'my time zone (Europe/Amsterdam)'

    test('Date-times are in UTC until the reader chooses the zone of the computer; headers name the zone', async () => {
      const { page } = await open('#/Absences?sort=Id', 'tbody tr', AMSTERDAM)
      const title = page.locator('th', { hasText: 'Start' })
      expect([await title.textContent(), (await row(page)).includes('1 Jan 2026, 23:00')]).toEqual(['Start UTC', true])
      await choose(page, OWN)
      expect([await title.textContent(), (await row(page)).includes('2 Jan 2026, 00:00')]).toEqual(['Start Amsterdam', true])
      await page.goto(`${server.url}/explore#/Absences?row=1&sort=Id`)
      await page.locator('aside dd', { hasText: '2 Jan 2026, 00:00' }).waitFor()
      await page.locator('aside dt', { hasText: 'Start Amsterdam' }).waitFor()
      await page.reload()
      await page.locator('th', { hasText: 'Start Amsterdam' }).waitFor()
      await choose(page, 'UTC')
      await page.locator('th', { hasText: 'Start UTC' }).waitFor()
    })

    test('A filter by day uses days of the chosen zone, and the address has them in UTC', async () => {
      const { page } = await open('#/Absences', 'tbody tr', AMSTERDAM)
      await choose(page, OWN)
      await page.keyboard.press('/')
      await page.getByLabel('Property').selectOption('Start')
      await page.getByLabel('Operator').selectOption('before')
      await page.getByLabel('Day', { exact: true }).fill('2026-07-03')
      await page.getByLabel('Time, Amsterdam').waitFor()
      await page.keyboard.press('Enter')
      await page.getByText('31 of 60').waitFor()
      expect(await hashOf(page)).toBe('#/Absences?Start=<2026-07-02T22:00:00Z')
      await page.getByRole('button', { name: 'Start before 3 Jul 2026', exact: true }).click()
      expect(await page.getByLabel('Day', { exact: true }).inputValue()).toBe('2026-07-03')
      expect(await page.getByLabel('Time, Amsterdam').inputValue()).toBe('00:00')
      await page.keyboard.press('Escape')
      await choose(page, 'UTC')
      await page.getByRole('button', { name: 'Start before 2 Jul 2026, 22:00', exact: true }).waitFor()
    })

    test('Periods of a summary are in the chosen zone, name the zone, and link to their rows', async () => {
      const { page } = await open('#/Absences?view=summary&by=day(Start)', 'tbody tr', AMSTERDAM)
      expect([await page.locator('th').first().textContent(), (await row(page))[0]]).toEqual(['Day of Start UTC', '1 Jan 2026'])
      await choose(page, OWN)
      await page.locator('tbody tr:first-child td', { hasText: '2 Jan 2026' }).waitFor()
      expect(await page.locator('th').first().textContent()).toBe('Day of Start Amsterdam')
      await page.goto(`${server.url}/explore#/Absences?view=summary&by=month(Start)`)
      // The days before it are of January too.
      await page.locator('tbody tr:first-child td', { hasText: /^Jan 2026$/ }).waitFor()
      expect(await page.locator('svg a').count()).toBe(7)
      await page.locator('tbody a').first().click()
      await page.getByText('30 of 60').waitFor()
      expect(await hashOf(page)).toBe('#/Absences?Start=>=2025-12-31T23:00:00Z&Start=<2026-01-31T23:00:00Z')
    })

    test('A computer in UTC is offered no other zone', async () => {
      const { page } = await open('#/Absences', 'tbody tr', { timezoneId: 'UTC' })
      expect(await page.locator('.foot').textContent()).toBe('Times are in UTC')
      expect(await page.getByLabel('Times in').count()).toBe(0)
    })
  })

  describe.each([
    ['a list', '#/Absences?sort=-Start', 'tbody tr'],
    ['a filtered list', '#/Absences?Status=approved&Type=!=Type 9&Start=>=2026-01-01T00:00:00Z', '.chip'],
    ['long, right-to-left and empty names', '#/Companies', 'tbody tr'],
    ['an open row', '#/Absences?row=2', 'aside dd'],
    ['a row with related rows', '#/Employees?row=1', 'aside li'],
    ['a summary', '#/Absences?view=summary&show=sum(Period.Days)&by=month(Start)&and=Status', 'svg'],
    ['the form for a new row', '#/Absences?form=new', 'form.fields'],
    ['the form of a row', '#/Employees?row=2&form=edit', 'form.fields'],
    ['a list without rows', '#/Absences?Status=Nothing', '.empty'],
    ['a refused filter', '#/Absences?Statsu=approved', '.hint'],
    ['an unknown collection', '#/Nothings', '.empty'],
  ])('%s', (_, hash, part) => {
    test.each([
      ['on a light screen', { colorScheme: 'light' }],
      ['on a dark screen', { colorScheme: 'dark' }],
      ['on a phone', { colorScheme: 'light', ...PHONE }],
      ['on a dark phone', { colorScheme: 'dark', ...PHONE }],
    ] as const)('is accessible and fits %s', async (_, options) => {
      const { page } = await open(hash, part, { ...AMSTERDAM, ...options })
      await until(async () => (await page.locator('.late').count()) === 0)
      expect(await faultsOf(page, 'isMobile' in options)).toEqual(NO_FAULTS)
    })
  })

  test.each([
    ['on a light screen', { colorScheme: 'light' }],
    ['on a dark phone', { colorScheme: 'dark', ...PHONE }],
  ] as const)('The form for a key is accessible and fits %s', async (_, options) => {
    const { page } = await browser.open(`${server.url}/explore`, options)
    await page.getByLabel('Key', { exact: true }).waitFor()
    expect(await faultsOf(page, 'isMobile' in options)).toEqual(NO_FAULTS)
  })

  test.each([
    ['on a light screen', { colorScheme: 'light' }],
    ['on a dark phone', { colorScheme: 'dark', ...PHONE }],
  ] as const)('The errors of a form and the question before a deletion are accessible and fit %s', async (_, options) => {
    const { page } = await open('#/Absences?form=new', 'form.fields', options)
    const form = page.locator('form.fields')
    await form.getByLabel('Period days').fill('many')
    await form.getByRole('button', { name: 'Create' }).click()
    await form.locator('[aria-invalid]').waitFor()
    expect(await faultsOf(page, 'isMobile' in options)).toEqual(NO_FAULTS)
    await page.goto(`${server.url}/explore#/Absences?row=2`)
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Keep it' }).waitFor()
    expect(await faultsOf(page, 'isMobile' in options)).toEqual(NO_FAULTS)
  })

  test.each([
    ['the columns', 'Columns'],
    ['the downloads', 'Download CSV'],
    ['the filter', '+ Filter'],
  ])('The sheet of %s is accessible, fits on a phone, and is closed by a touch outside of it', async (_, label) => {
    const { page } = await open('#/Absences', 'tbody tr', { ...PHONE, colorScheme: 'dark' })
    await page.locator('summary, button').filter({ hasText: label }).tap()
    const sheet = page.locator('.popover:visible')
    await sheet.waitFor()
    expect(await faultsOf(page, true)).toEqual(NO_FAULTS)
    const box = await sheet.boundingBox()
    expect([box?.x, box?.width, (box?.y ?? 0) + (box?.height ?? 0)]).toEqual([0, 390, 844])
    await page.touchscreen.tap(200, 20)
    await sheet.waitFor({ state: 'hidden' })
  })

  test('On a phone an open row fills the page, and Back leads to the list at this row', async () => {
    const { page } = await open('#/Absences?sort=Id&row=2', 'aside dd', PHONE)
    expect(await page.locator('table').isVisible()).toBe(false)
    await page.getByRole('button', { name: '‹ Back' }).tap()
    await page.locator('tbody tr').first().waitFor()
    await until(async () => (await page.evaluate('document.activeElement.cells?.[0].innerText')) === '2')
  })
})

/** Faults that axe finds, pixels by which the page scrolls sideways, buttons with cut text, and controls too small for a finger. */
interface Faults {
  readonly axe: readonly string[]
  readonly sideways: number
  readonly cut: readonly string[]
  readonly small: readonly string[]
}

const NO_FAULTS: Faults = { axe: [], sideways: 0, cut: [], small: [] }
const FINGER = 40

async function faultsOf(page: Page, isPhone: boolean): Promise<Faults> {
  await page.evaluate(axe.source)
  const { violations } = (await page.evaluate('axe.run()')) as axe.AxeResults
  const fit = (await page.evaluate(`(() => {
    const controls = [...document.querySelectorAll('button, .button, select, input, textarea, summary')]
    const visible = controls.filter((one) => one.checkVisibility({ visibilityProperty: true }))
    const nameOf = (one) => one.getAttribute('aria-label') ?? one.textContent
    // Texts of chips are values of any length; their title has all of them.
    const isCut = (one) => one.scrollWidth > one.clientWidth + 1 && one.matches('button, .button, summary')
    const heightOf = (one) => (one.closest('label') ?? one).getBoundingClientRect().height
    const isInText = (one) => one.closest('th, p, .notice') !== null
    return {
      sideways: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      cut: visible.filter((one) => isCut(one) && !one.closest('.chip')).map(nameOf),
      small: visible.filter((one) => heightOf(one) < ${FINGER} && !isInText(one)).map(nameOf),
    }
  })()`)) as Omit<Faults, 'axe'>
  const faults = violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
  return { axe: faults, ...fit, small: isPhone ? fit.small : [] }
}
