import { beforeAll, expect, test } from 'bun:test'
import axe from 'axe-core'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { describeInBrowser, type OpenPage, useBrowser } from '../support/browser.ts'
import { hostileTexts } from '../support/hostile.ts'
import { until } from '../support/process.ts'
import { createRow, createRows } from '../support/rows.ts'
import { type Json, KEY, makeKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const LONG = 'long '.repeat(80).trim()
const ARABIC = 'أحمد زويل'
const FAMILY = '\u{1f469}\u200d\u{1f467}'
/**
 * Labels that are twice as wide as Latin letters. Wherever code units cut a label, one of the first two loses half of a
 * character.
 */
const WIDE = ['face ', 'faces '].map((begin) => begin + FAMILY.repeat(16)).concat(`face ${'漢字'.repeat(30)}`)
const NARROW = { width: 360, height: 740 }

/** Runs in the page: returns the text of the table by row, without the header. */
const ROWS = `[...document.querySelectorAll('tbody tr')].map((row) => [...row.cells].map((cell) => cell.innerText.trim()))`
const OVERFLOW = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
const HASH = 'decodeURIComponent(location.hash)'

describeInBrowser('/explore in Chromium', () => {
  // The server has another name than the one by which the page is opened, as behind a proxy; the page must still load
  // everything from where it came.
  const server = useServer({ environment: { PUBLIC_URL: 'https://api.example.com/people' } })
  const browser = useBrowser(() => [shared])
  beforeAll(async () => {
    const names = [
      'Acme',
      ARABIC,
      LONG,
      '',
      null,
      ...hostileTexts.filter((text) => text.isWellFormed() && !text.includes('\0')),
      ...WIDE,
    ]
    await createRows(
      server,
      '/Companies',
      names.map((Name, place) => ({ Name: Name?.slice(0, 100) ?? null, Enabled: place % 2 === 0 })),
    )
    await createRows(server, '/Employees', [
      { FirstName: 'Ada', LastName: 'Byron', CompanyId: 1 },
      { FirstName: 'Grace', LastName: 'Murray', CompanyId: 1, ManagerId: 1, Department: 'Compilers' },
    ])
    const days = Array.from({ length: 60 }, (_, place) => ({
      ...{ EmployeeId: 1 + (place % 2), Status: place % 3 === 0 ? 'Approved' : 'Requested', Type: 'Holiday' },
      ...{ Start: new Date(Date.UTC(2026, 0, 1 + place, 9)).toISOString(), Period: { Days: place / 4 } },
    }))
    await createRows(server, '/Absences', days)
  })

  /** A window that tests share in turns: a new one costs Chromium several times as much as a view. */
  let shared: OpenPage | null = null

  /**
   * Opens a view with a key, by default that of the tests, and waits for `text`. With options, or another key, in a new window.
   */
  async function open(hash: string, text: string | null, key: string | null = KEY, options?: BrowserContextOptions) {
    const isShared = key === KEY && options === undefined
    let opened = isShared ? shared : null
    if (opened === null) {
      const url = `${server.url}/explore${key === null ? '' : `#key=${key}`}`
      opened = await browser.open(url, { locale: 'en-GB', ...options })
      // Shorter than the test's own limit, which would end the browser for all tests.
      opened.page.setDefaultTimeout(60_000)
      if (key !== null) await opened.page.locator('h1').first().waitFor()
      if (isShared) shared = opened
    } else await opened.page.goto('about:blank')
    const { page } = opened
    if (hash !== '') await page.goto(`${server.url}/explore${hash}`)
    if (text !== null) await page.getByText(text, { exact: true }).first().waitFor()
    return opened
  }
  const rowsOf = (page: Page) => page.evaluate(ROWS) as Promise<string[][]>
  const firstRow = (page: Page, id: string) => page.locator(`tbody tr:first-child td:first-child bdi:text-is("${id}")`).waitFor()
  const hashOf = (page: Page) => page.evaluate(HASH) as Promise<string>
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

  test('/explore removes the key from the address immediately, keeps it for the tab, and forgets it on request', async () => {
    const { page, requests, complaints } = await open('', '60', KEY, {})
    expect([page.url(), await page.evaluate('sessionStorage["roster.key"]')]).toEqual([`${server.url}/explore#/Absences`, KEY])
    await page.reload()
    await page.getByText('60', { exact: true }).first().waitFor()
    expect(requests.filter((url) => url.includes(KEY) || !url.startsWith(`${server.url}/`))).toEqual([])
    expect([await page.evaluate('localStorage.length + document.cookie.length'), complaints]).toEqual([0, []])
    await button(page, 'Forget').click()
    await page.getByLabel('Key').waitFor()
    expect(await page.evaluate('sessionStorage.length')).toBe(0)
  })

  test('/explore asks for a key, and says why one is refused', async () => {
    const { page } = await open('', 'Key', null)
    expect(await page.locator('.ask p').first().textContent()).toEndWith(
      'npm start prints a link with its own key on a terminal, and keeps the key in .data/development.key.',
    )
    await page.getByLabel('Key').fill('roster_8ryn6…')
    await page.keyboard.press('Enter')
    await page.getByText('The key has characters that no key has.').waitFor()
    await page.getByLabel('Key').fill('ApiKey wrong')
    await page.keyboard.press('Enter')
    await page.getByText('This key is not known here, or was revoked.').waitFor()
    const { record, text } = makeKey({ rights: 'Companies:read' })
    await server.replaceKeys([record])
    await page.getByLabel('Key').fill(text)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Companies' }).waitFor()
    expect(await page.locator('nav a').allInnerTexts()).toEqual(['Companies'])
  })

  test('A link with another key makes /explore ask which key to use, and the key leaves the address before the answer', async () => {
    const { record, text } = makeKey({ rights: 'Companies:read' })
    await server.replaceKeys([record])
    const { page, complaints } = await open('#/Employees', 'Ada Byron', KEY, {})
    const keys: (string | undefined)[] = []
    page.on('request', (request) => keys.push(request.headers().authorization))
    const follow = async (key: string) => {
      keys.length = 0
      await page.goto(`${server.url}/explore#key=${encodeURIComponent(key)}`)
    }
    const state = async () => [page.url().split('#')[1], await page.evaluate('sessionStorage["roster.key"]')]

    await follow(text)
    await page.getByRole('heading', { name: 'Use the key of this link?' }).waitFor()
    expect(await page.locator('.ask p').textContent()).toContain(
      `the key ${text.slice(0, 17)}…, and this tab has ${KEY.slice(0, 10)}…`,
    )
    expect([await state(), keys]).toEqual([['/', KEY], []])
    await page.evaluate(axe.source)
    expect(((await page.evaluate('axe.run()')) as axe.AxeResults).violations).toEqual([])
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Absences' }).waitFor()
    await page.getByText('60', { exact: true }).first().waitFor()
    expect([await state(), [...new Set(keys)]]).toEqual([['/Absences', KEY], [`ApiKey ${KEY}`]])

    await follow(KEY)
    await page.getByText('60', { exact: true }).first().waitFor()
    expect(await state()).toEqual(['/Absences', KEY])

    await follow(`${text.slice(0, 12)}…`)
    await page.getByText('The key has characters that no key has. This tab still has its own.').waitFor()
    expect([await state(), await button(page, 'Use the link’s key').count()]).toEqual([['/', KEY], 0])
    await button(page, 'Keep this tab’s key').click()
    await page.getByText('60', { exact: true }).first().waitFor()

    await follow(text)
    await button(page, 'Use the link’s key').click()
    await page.getByRole('heading', { name: 'Companies' }).waitFor()
    expect([await state(), [...new Set(keys)]]).toEqual([['/Companies', text], [`ApiKey ${text}`]])

    await follow(KEY)
    await button(page, 'Forget').click()
    await page.getByLabel('Key').waitFor()
    expect(await page.evaluate('sessionStorage.length')).toBe(0)
    expect(complaints).toEqual([])
  })

  test('/explore requests a linked list at the same time as the rights of the key, and each of them only once', async () => {
    const { page, requests } = await open('', '60', KEY, {})
    await page.goto('about:blank')
    requests.length = 0
    const hasAsked = (part: string) => requests.some((url) => url.includes(part))
    // The document is delayed until the list is requested.
    await page.route('**/openapi.json', async (route) => {
      await until(async () => hasAsked('/Absences'))
      await route.continue()
    })
    await page.goto(`${server.url}/explore#/Absences?Status=Approved&sort=Start`)
    await page.getByText('20 of 60').waitFor()
    const paths = requests.map((url) => url.slice(server.url.length)).filter((path) => !path.startsWith('/explore'))
    expect(paths.sort()).toEqual([
      '/Absences',
      '/Absences?Status=Approved&sort=Start&PageSize=50&page=1',
      '/Rights',
      '/openapi.json',
    ])
  })

  test.each([
    ['#/Absences?Status=Approved&sort=-Start', 'Status is Approved', '20 of 60', '58'],
    ['#/Absences?Status=!=Approved&Period.Days=>=10', 'Status is not Approved|Period days at least 10', '14 of 60', '60'],
    [
      '#/Absences?Start=>=2026-02-01T00:00:00Z&Start=<2026-02-03T00:00:00Z',
      'Start on or after 1 Feb 2026|Start before 3 Feb 2026',
      '2 of 60',
      '33',
    ],
    ['#/Absences?Employee[contains]=byr&PageSize=20&page=2', 'Employee contains byr', '30 of 60', '19'],
    ['#/Absences?Status[]=Declined&Status[]=Approved', 'Status any of Declined, Approved', '20 of 60', '58'],
    ['#/Absences?Reason=&Type=!=', 'Reason has no value|Type has a value', '60 of 60', '60'],
    [
      '#/Companies?Enabled=false&Name==<script>alert(1)</script>',
      'Enabled is no|Name is <script>alert(1)</script>',
      '1 of',
      '30',
    ],
    ['#/companies?Name[]=&sort=-Id', 'Name any of no value', '2 of', '5'],
  ])('/explore shows the linked list %s', async (hash, chips, total, firstId) => {
    const { page } = await open(hash, null)
    await firstRow(page, firstId)
    const shown = await page.locator('.chip button:first-child').allInnerTexts()
    expect(shown.join('|')).toBe(chips)
    await page.getByText(total).first().waitFor()
    await page.reload()
    await page.getByText(total).first().waitFor()
    expect((await hashOf(page)).replace('=<script>', '<script>')).toBe(hash.replace('==<script>', '=<script>'))
  })

  test.each([
    ['Status', 'is', 'Approved', '#/Absences?Status=Approved'],
    ['Status', 'is', '>x', '#/Absences?Status==>x'],
    ['Reason', 'has no value', null, '#/Absences?Reason='],
    ['Start', 'before', '2026-01-03', '#/Absences?Start=<2026-01-03T00:00:00Z'],
    ['Period days', 'more than', '14', '#/Absences?Period.Days=>14'],
  ])('/explore lets a reader add the filter %s %s %p by keyboard', async (property, operator, value, hash) => {
    const { page } = await open('#/Absences', '60')
    await page.keyboard.press('/')
    await page.getByLabel('Property').selectOption({ label: property })
    await page.getByLabel('Operator').selectOption(operator)
    if (value !== null) await page.getByLabel(/^(Value|Day)$/).fill(value)
    await page.keyboard.press('Enter')
    await page
      .getByText(/ of 60$/)
      .first()
      .waitFor()
    expect(await hashOf(page)).toBe(hash)
    await page.goBack()
    await page.getByText('60', { exact: true }).first().waitFor()
    expect(await page.locator('.chip').count()).toBe(0)
  })

  test('/explore lets a reader add several values to a filter, change it and remove it', async () => {
    const { page } = await open('#/Absences', '60')
    await button(page, '+ Filter').click()
    await page.getByLabel('Operator').selectOption('any of')
    for (const value of ['Declined', 'Approved']) {
      await page.getByLabel('Value').fill(value)
      await button(page, 'Add').click()
    }
    await button(page, 'Apply').click()
    await page.getByText('20 of 60').waitFor()
    expect(await hashOf(page)).toBe('#/Absences?Status[]=Declined&Status[]=Approved')
    await button(page, 'Status any of Declined, Approved').click()
    await button(page, 'Remove Approved').click()
    await button(page, 'Apply').click()
    await page.getByText('0 of 60').waitFor()
    await page.getByText('No rows match these filters.').waitFor()
    await button(page, 'Remove Status any of Declined').click()
    await page.getByText('60', { exact: true }).first().waitFor()
  })

  test.each([
    ['#/Absences?Status=Approved&Start=>x', 'Start after x', 'Start must be a date-time like 2024-01-31T09:00:00Z.'],
    ['#/Absences?Statsu=A', 'Statsu is A', 'Absences has no parameter "Statsu". Did you mean Status?'],
    ['#/Absences?Period.Days=many', 'Period days is many', 'Period.Days must be a number.'],
  ])('/explore shows the error of the API about %s at the field', async (hash, chip, message) => {
    const { page } = await open(hash, message)
    expect(await page.locator('.field:has(.bad)').textContent()).toBe(`${chip}×${message}`)
  })

  test('/explore sorts by clicks on headers: ascending, descending, not at all, and by a second property', async () => {
    const { page } = await open('#/Absences', '60')
    const header = (name: string) => page.locator('th').getByRole('button', { name })
    const steps = [
      ['Period days', [], 'sort=Period.Days', '1'],
      ['Period days', [], 'sort=-Period.Days', '60'],
      ['Status', ['Shift'], 'sort=-Period.Days,Status', '60'],
      ['Period days', ['Shift'], 'sort=Status', '1'],
      ['Status', [], 'sort=-Status', '60'],
      // Without another order the latest begin.
      ['Status', [], '', '60'],
    ] as const
    for (const [name, modifiers, sort, firstId] of steps) {
      await header(name).click({ modifiers: [...modifiers] })
      await firstRow(page, firstId)
      expect(await hashOf(page)).toBe(`#/Absences${sort === '' ? '' : `?${sort}`}`)
    }
  })

  test('/explore lists rows without a value of the sorted property last in both directions, on all pages', async () => {
    const reason = { Reason: 'unsorted' }
    const starts = [1, null, 3, null, 5, null, 7, null].map((day) => day && `2026-04-0${day}T09:00:00Z`)
    const rows = await createRows(
      server,
      '/Absences',
      starts.map((Start) => ({ ...reason, Start })),
    )
    const idOf = (place: number) => String(rows[place].id)
    try {
      const { page } = await open('#/Absences?Reason=unsorted&sort=-Start&PageSize=5', '8 of 68')
      const shown = async (text: string) => {
        await page.getByText(text, { exact: true }).waitFor()
        return (await rowsOf(page)).map(([id]) => id)
      }
      expect(await shown('1 – 5 of 8')).toEqual([6, 4, 2, 0, 7].map(idOf))
      await page.getByRole('link', { name: 'Next ›' }).click()
      expect(await shown('6 – 8 of 8')).toEqual([5, 3, 1].map(idOf))
      await page.getByRole('link', { name: '‹ Previous' }).click()
      expect(await shown('1 – 5 of 8')).toEqual([6, 4, 2, 0, 7].map(idOf))
      await page
        .locator('th')
        .getByRole('button', { name: 'End' })
        .click({ modifiers: ['Shift'] })
      await page.locator(`tbody tr:nth-child(5) bdi:text-is("${idOf(1)}")`).waitFor()
      expect(await shown('1 – 5 of 8')).toEqual([6, 4, 2, 0, 1].map(idOf))
      await page.goto(`${server.url}/explore#/Absences?Reason=unsorted&sort=Start&PageSize=5`)
      await page.locator(`tbody tr:nth-child(1) bdi:text-is("${idOf(0)}")`).waitFor()
      expect(await shown('1 – 5 of 8')).toEqual([0, 2, 4, 6, 1].map(idOf))
      await page.goto(`${server.url}/explore#/Absences?Reason=unsorted`)
      expect((await shown('1 – 8 of 8')).slice(0, 4)).toEqual([6, 4, 2, 0].map(idOf))
      await page.locator('th[aria-sort=descending]', { hasText: 'Start' }).waitFor()
    } finally {
      for (const { id } of rows) await server.remove(`/Absences/${id}`)
    }
  })

  test('/explore finds absences between two days by keyboard, shows them as one chip, and puts two conditions into the address', async () => {
    const reason = { Reason: 'span' }
    const at = (month: number, day: number) => new Date(Date.UTC(2026, month - 1, day, 9)).toISOString()
    const spans = [
      { Start: at(11, 20), End: at(12, 1) },
      { Start: at(12, 31), End: at(12, 31) },
      { Start: at(10, 1), End: '2027-02-01T09:00:00Z' },
      { Start: at(11, 20), End: at(11, 30) },
      { Start: '2027-01-01T00:00:00Z', End: '2027-01-02T00:00:00Z' },
      { Start: at(12, 5) },
      { End: at(12, 5) },
      {},
    ]
    const rows = await createRows(
      server,
      '/Absences',
      spans.map((span) => ({ ...reason, ...span })),
    )
    try {
      const { page, complaints } = await open('#/Absences?Reason=span', '8 of 68')
      const complained = complaints.length
      await button(page, 'Away between …').press('Enter')
      const form = page.getByRole('form', { name: 'Away between' })
      await page.evaluate(axe.source)
      expect(((await page.evaluate('axe.run()')) as axe.AxeResults).violations).toEqual([])
      await form.getByLabel('First day').fill('2026-12-31')
      await form.getByLabel('Last day').fill('2026-12-01')
      await page.keyboard.press('Enter')
      await page.getByText('3 of 68').waitFor()
      const hash = '#/Absences?Reason=span&Start=<2027-01-01T00:00:00Z&End=>=2026-12-01T00:00:00Z'
      expect(await hashOf(page)).toBe(hash)
      const ids = new Set((await rowsOf(page)).map(([id]) => id))
      expect(ids).toEqual(new Set(rows.slice(0, 3).map(({ id }: Json) => String(id))))
      await page.reload()
      const chip = page.locator('.chip', { hasText: 'Away' })
      expect(await chip.textContent()).toMatch(/^Away between 1\s*–\s*31 Dec 2026×$/)
      expect(await page.locator('.chip').count()).toBe(2)
      expect(await page.locator('.gap').allInnerTexts()).toEqual(['1 without End', '1 without Start'])

      await chip.getByRole('button').first().click()
      await form.getByLabel('Last day').fill('2026-12-01')
      await page.keyboard.press('Enter')
      await button(page, 'Remove Away on 1 Dec 2026').waitFor()
      await page.getByText('2 of 68').waitFor()
      await page.getByRole('link', { name: '1 without Start' }).click()
      await page.getByText('Start has no value').waitFor()
      await page.getByText('1 of 68').waitFor()
      await page.goto(`${server.url}/explore${hash}`)
      await chip.getByRole('button').last().click()
      await page.getByText('8 of 68').waitFor()
      expect([await hashOf(page), complaints.slice(complained)]).toEqual(['#/Absences?Reason=span', []])
    } finally {
      for (const { id } of rows) await server.remove(`/Absences/${id}`)
    }
  })

  test('/explore uses the same words for a property everywhere, and API names only in the address', async () => {
    const { page } = await open('#/Absences?Period.Days=12&row=49', 'Absence 49')
    const labels = ['Employee id', 'Period prefered', 'Period days', 'Period hours']
    const named = async (places: string) => {
      const texts = (await page.locator(places).allInnerTexts()).map((text) => text.trim())
      return labels.filter((label) => texts.includes(label))
    }
    await button(page, 'Period days is 12').waitFor()
    await page.locator('aside dt').first().waitFor()
    expect(await named('aside dt')).toEqual(labels.slice(1))
    await page.keyboard.press('/')
    expect(await named('form[aria-label=Filter] select:first-child option')).toEqual(labels)
    await page.keyboard.press('Escape')
    await page.locator('summary', { hasText: 'Columns' }).click()
    expect(await named('details[open] label')).toEqual(labels)
    expect(await named('th')).toEqual(labels.slice(1))
    expect(await button(page, 'Move Period days forward').count()).toBe(1)
    const titles = await page.locator('[title]').evaluateAll((all) => all.map((one) => one.getAttribute('title')))
    const texts = [...titles, ...(await page.locator('body').allTextContents())]
    expect(texts.filter((text) => /Period\.|[a-z]Id\b/.test(text ?? ''))).toEqual([])
    await page.goto(`${server.url}/explore#/Absences?view=summary&show=sum(Period.Days)&by=EmployeeId`)
    await page.getByRole('group', { name: /^sum of Period days by Employee id/ }).waitFor()
    expect(await page.locator('th').allInnerTexts()).toEqual(['Employee id', 'Count', 'Sum of Period days'])
    expect(await named('label[for=by] option')).toEqual(labels)
    expect(await page.locator('label[for=show] option').allInnerTexts()).toContain('average of Period hours')
  })

  test('/explore names the changed properties of a row by the same words as the headers of columns', async () => {
    const { id } = await createRow(server, '/Absences', { Reason: 'words', Period: { Days: 1 } })
    try {
      await server.patch(`/Absences/${id}`, { EmployeeId: 1, Period: { Days: 2 } })
      const { page } = await open(`#/Absences?Reason=words&row=${id}`, `Absence ${id}`)
      await page.locator('aside li', { hasText: /Changed by key bootstrap-1 Employee, Period days/ }).waitFor()
    } finally {
      await server.remove(`/Absences/${id}`)
    }
  })

  test('/explore changes pages by the links of the API, and by page number', async () => {
    const { page } = await open('#/Absences?sort=-Id&PageSize=20', '60')
    await page.getByText('1 – 20 of 60').waitFor()
    await page.getByRole('link', { name: 'Next ›' }).click()
    await page.getByText('21 – 40 of 60').waitFor()
    expect(await hashOf(page)).toMatch(/^#\/Absences\?sort=-Id&page=2&cursor=[\w-]+&PageSize=20$/)
    expect((await rowsOf(page))[0]?.[0]).toBe('40')
    await page.getByRole('link', { name: '‹ Previous' }).click()
    await page.getByText('1 – 20 of 60').waitFor()
    await page.getByLabel('Page').fill('3')
    await page.keyboard.press('Enter')
    await page.getByText('41 – 60 of 60').waitFor()
    expect([(await rowsOf(page))[0]?.[0], await page.getByRole('link', { name: 'Next ›' }).count()]).toEqual(['20', 0])
  })

  test('/explore opens a row with its references and referring rows; arrows and Escape work', async () => {
    const { page } = await open('#/Employees', '2')
    await page.locator('tbody tr').first().focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Employee 2' }).waitFor()
    await page.getByText('by key').first().waitFor()
    for (const text of ['Absences of this employee', 'Employees of this employee, as manager'])
      await page.locator('aside li a', { hasText: text }).waitFor()
    const links = await page.locator('aside li a').allInnerTexts()
    expect(await page.locator('aside dt').allInnerTexts()).not.toContain('Manager id')
    expect(await page.locator('aside dt', { hasText: /^Manager$/ }).getAttribute('title')).toBe('Manager id 1')
    expect(links).toEqual(['Open company', 'Open manager', 'Absences of this employee', 'Employees of this employee, as manager'])
    await page.keyboard.press('ArrowUp')
    await page.getByRole('heading', { name: 'Employee 1' }).waitFor()
    await page.locator('aside li', { hasText: 'Absences of this employee 30' }).waitFor()
    await page.keyboard.press('Escape')
    await page.locator('aside').waitFor({ state: 'detached' })
    expect(await hashOf(page)).toBe('#/Employees')
    await page.getByRole('link', { name: 'Ada Byron' }).first().click()
    await page.getByRole('link', { name: 'Absences of this employee' }).click()
    await page.getByText('30 of 60').waitFor()
  })

  test('/explore exports the view as JSON, curl and CSV', async () => {
    const permissions = ['clipboard-read', 'clipboard-write']
    const { page } = await open('#/Companies?Enabled=true&sort=Name&row=1', 'Company 1', KEY, { permissions })
    const clipboard = () => page.evaluate('navigator.clipboard.readText()') as Promise<string>
    await button(page, 'Copy JSON').click()
    await button(page, 'Copied').waitFor()
    expect(JSON.parse(await clipboard())).toEqual({ id: 1, name: 'Acme', enabled: true })
    await button(page, 'Copy as curl').click()
    await button(page, 'Copied').last().waitFor()
    const { stdout } = Bun.spawn(['sh', '-c', await clipboard()], { env: { ...process.env, ROSTER_KEY: KEY } })
    expect(JSON.parse(await new Response(stdout).text()).map(({ id }: { id: number }) => String(id))).toEqual(
      (await rowsOf(page)).map(([id]) => id),
    )
    await page.locator('summary', { hasText: 'Download CSV' }).click()
    const [download] = await Promise.all([page.waitForEvent('download'), button(page, 'For programs').click()])
    const csv = await server.get('/Companies?Enabled=true&sort=Name', { accept: 'text/csv' })
    expect([download.suggestedFilename(), await Bun.file(await download.path()).text()]).toEqual(['Companies.csv', csv.text])
  })

  test('/explore shows an e-mail address as a mailto link, in tables and in open rows', async () => {
    const { id } = await createRow(server, '/Employees', { LastName: 'Write', WorkEmail: "o'neil+a?b@example.com" })
    try {
      const { page } = await open(`#/Employees?LastName=Write&row=${id}`, `Employee ${id}`)
      const links = page.locator('a[href^="mailto:"]')
      await links.nth(1).waitFor()
      expect(await links.evaluateAll((all) => all.map((one) => [one.getAttribute('href'), one.textContent]))).toEqual(
        Array(2).fill(["mailto:o'neil%2Ba%3Fb@example.com", "o'neil+a?b@example.com"]),
      )
    } finally {
      await server.remove(`/Employees/${id}`)
    }
  })

  test('/explore stores columns and their order in the browser', async () => {
    const { page } = await open('#/Companies', 'Acme')
    await page.locator('summary', { hasText: 'Columns' }).click()
    await page.getByLabel('Id', { exact: true }).click()
    await button(page, 'Move Enabled forward').click()
    await page.reload()
    await page.getByText('Acme').waitFor()
    expect(await page.locator('th').allInnerTexts()).toEqual(['Enabled', 'Name'])
  })

  test('/explore counts down when the rate limit is reached, and then retries; the rows stay visible', async () => {
    const { record, text } = makeKey({ limits: '1/3s' })
    await server.replaceKeys([record])
    const { page } = await open('', '60', text)
    await page.locator('th').getByRole('button', { name: 'Id' }).click()
    await page.getByText(/^The limit of 1 per 3s is reached/).waitFor()
    expect((await rowsOf(page)).length).toBe(50)
    await page.getByText(/Asking again in \d+ s/).waitFor()
    await page.locator('.trouble').waitFor({ state: 'detached' })
    expect((await rowsOf(page)).length).toBe(50)
  })

  test('/explore shows long texts, right-to-left texts and texts with HTML as plain text', async () => {
    const { page, complaints } = await open('#/Companies?PageSize=50', ARABIC, KEY, { viewport: NARROW })
    page.on('dialog', () => complaints.push('a dialog'))
    const rows = await rowsOf(page)
    expect(rows.slice(0, 5).map(([, name]) => name)).toEqual(['Acme', ARABIC, LONG.slice(0, 99), '', '–'])
    expect(rows.map(([, name]) => name)).toEqual(
      expect.arrayContaining(['<script>alert(1)</script>', '"><img src=x onerror=alert(1)>']),
    )
    expect(await page.evaluate('document.querySelectorAll("#explore :is(img, script, iframe, [onerror])").length')).toBe(0)
    const [cell, wide] = await page
      .locator('td', { hasText: 'long long' })
      .evaluate((cell) => [cell.clientWidth, cell.scrollWidth])
    expect(cell as number).toBeLessThan(wide as number)
    const id = rows.find(([, name]) => name?.includes('onerror'))?.[0]
    await page.goto(`${server.url}/explore#/Companies?row=${id}&Name==<img src=x onerror=alert(1)>`)
    // On a narrow screen the open row is the page.
    await page.getByRole('heading', { name: `Company ${id}` }).waitFor()
    await page.getByText('No rows match these filters.').waitFor({ state: 'attached' })
    expect(complaints).toEqual([])
  })

  test('/explore shows a summary as a chart, and as a table with the same numbers and links to the rows of each group', async () => {
    const { page } = await open('#/Absences?Status=Approved', '20 of 60')
    await button(page, 'Summary').click()
    await page.getByLabel('Show').selectOption('sum of Period days')
    await page.getByLabel('by', { exact: true }).selectOption('month of Start')
    await page.getByLabel('and', { exact: true }).selectOption('Employee')
    await page
      .getByRole('group', { name: 'sum of Period days by month of Start and Employee, as in the table below; 2 bars' })
      .waitFor()
    await page.getByText('4 groups').waitFor()
    expect(await hashOf(page)).toBe('#/Absences?Status=Approved&view=summary&show=sum(Period.Days)&by=month(Start)&and=Employee')
    const query = 'Status=Approved&groupBy=month(Start),Employee&sum=Period.Days'
    const { body } = await server.get(`/Absences/Summary?${query}`)
    const expected = body.map(({ start, employee, count, sum }: Json) => [
      { '2026-01': 'Jan 2026', '2026-02': 'Feb 2026' }[(start as string).slice(0, 7)],
      ...[employee, String(count), sum.period.days.toFixed(2)],
    ])
    expect(await rowsOf(page)).toEqual(expected)
    const names = await page.locator('svg a').evaluateAll((all) => all.map((one) => one.getAttribute('aria-label')))
    expect(names[0]).toBe(`Jan 2026, Grace Murray: ${expected[1][3]}, Ada Byron: ${expected[0][3]}`)
    await page.locator('th').getByRole('button', { name: 'Sum of Period days' }).click()
    await page.locator('th[aria-sort=ascending]').waitFor()
    expect(await hashOf(page)).toEndWith('&groups=sum(Period.Days)')
    await page.locator('summary', { hasText: 'Download CSV' }).click()
    const [download] = await Promise.all([page.waitForEvent('download'), button(page, 'For programs').click()])
    const csv = await server.get(`/Absences/Summary?${query}&sort=sum(Period.Days)`, { accept: 'text/csv' })
    expect(await Bun.file(await download.path()).text()).toBe(csv.text)
    await page.locator('tbody a').last().click()
    await page.getByText(`${csv.text.trim().split('\r\n').at(-1)?.split(',')[3]} of 60`).waitFor()
  })

  test('/explore offers related properties as filters, columns and groups, and keeps them in the link', async () => {
    const { page } = await open('#/Absences', '60')
    await button(page, '+ Filter').click()
    const groups = page.getByLabel('Property').locator('optgroup')
    expect(await groups.evaluateAll((all) => all.map((one) => one.getAttribute('label')))).toEqual(['Employee'])
    await page.getByLabel('Property').selectOption('Employee: Department')
    await page.getByLabel('Operator').selectOption('is')
    await page.getByLabel('Value').fill('Compilers')
    await button(page, 'Apply').click()
    await page.getByText('30 of 60').waitFor()
    await button(page, 'Employee: Department is Compilers').waitFor()
    expect(await hashOf(page)).toBe('#/Absences?EmployeeId.Department=Compilers')
    await page.locator('summary', { hasText: 'Columns' }).click()
    await page.getByLabel('Employee: Company', { exact: true }).click()
    await page.locator('tbody tr', { hasText: 'Acme' }).first().waitFor()
    const headers = await page.locator('th').allInnerTexts()
    expect((await rowsOf(page))[0]?.[headers.indexOf('Employee: Company')]).toBe('Acme')
    const company = page.locator('th', { hasText: 'Employee: Company' })
    expect([await company.locator('button').count(), await company.getAttribute('title')]).toEqual([
      0,
      'Lists cannot be sorted by properties of other rows.',
    ])
    await page.getByLabel('Employee: Company', { exact: true }).click()
    await button(page, 'Summary').click()
    await page.getByLabel('Show').selectOption('sum of Period days')
    const periods = page.getByLabel('by', { exact: true }).locator('optgroup')
    expect(await periods.evaluateAll((all) => all.map((one) => one.getAttribute('label')))).toEqual([
      'Start',
      'End',
      'Employee',
      'Employee: Started',
      'Employee: Continuous start',
      'Employee: Contract end',
      'Employee: Employment end',
    ])
    await page.getByLabel('by', { exact: true }).selectOption('Employee: Department')
    await page.locator('tbody tr', { hasText: 'Compilers' }).waitFor()
    await page.locator('tbody').getByRole('link', { name: 'Compilers' }).click()
    await page.getByText('30 of 60').waitFor()
  })

  test.each([
    [
      'show=sum(Period.Days)&by=EmployeeId.Departmnt',
      'by',
      'Absences have no "EmployeeId.Departmnt". Employees have no property "Departmnt". Did you mean Department?',
    ],
    ['by=Type&and=Department', 'and', 'Absences have no property "Department". Did you mean EmployeeId.Department?'],
    ['by=month(Start)&and=week(Start)', 'and', 'month(Start) and week(Start) group by one property: give one of the two.'],
    ['show=sum(Period.Dais)', 'show', 'Absences have no property "Period.Dais". Did you mean Period.Days?'],
    ['show=total(Period.Days)', 'show', 'A summary has no parameter "total". Did you mean sum?'],
    ['show=minimum(Start)', 'show', 'This page cannot show “minimum(Start)”. Choose something else above.'],
    [
      'show=Period.Days&by=Type,Status',
      'by',
      'This page cannot show “Period.Days” and “Type,Status”. Choose something else above.',
    ],
  ])('/explore shows no summary for a link with %s, and says at %s what is wrong', async (query, part, message) => {
    const { page, complaints } = await open(`#/Absences?view=summary&${query}`, message)
    const wrong = page.locator(`select.bad#${part}`)
    expect(await wrong.inputValue()).toBe(new URLSearchParams(query).get(part) as string)
    expect(await page.locator('svg, table').count()).toBe(0)
    await page.getByLabel('and', { exact: true }).selectOption({ label: 'nothing else' })
    await page.getByLabel('Show').selectOption('sum(Period.Days)')
    await page.getByLabel('by', { exact: true }).selectOption({ label: 'Employee: Department' })
    await page.locator('tbody').getByRole('link', { name: 'Compilers' }).waitFor()
    expect([await page.locator('.bad, [role=alert]').count(), await page.locator('svg').count()]).toEqual([0, 1])
    // A browser writes refused requests to its console.
    expect(complaints.filter((complaint) => !complaint.includes('400'))).toEqual([])
  })

  test('/explore accepts related properties through two references in a link, and groups by whole dates', async () => {
    const { page } = await open('#/Absences?view=summary&show=sum(Period.Days)&by=EmployeeId.CompanyId.Name', null)
    await page.getByRole('group', { name: /^sum of Period days by Employee: Company: Name/ }).waitFor()
    expect(await page.getByLabel('by', { exact: true }).locator('option:checked').textContent()).toBe('Employee: Company: Name')
    expect(await rowsOf(page)).toEqual([['Acme', '60', '442.50']])
    await page.locator('tbody').getByRole('link', { name: 'Acme' }).click()
    await page.getByText('60 of 60').waitFor()
    expect(await hashOf(page)).toBe('#/Absences?EmployeeId.CompanyId.Name=Acme')
    await button(page, 'Employee: Company: Name is Acme').click()
    await page.getByLabel('Operator').selectOption('contains')
    await page.getByLabel('Value').fill('ACM')
    await button(page, 'Apply').click()
    await button(page, 'Employee: Company: Name contains ACM').waitFor()
    await page.getByText('60 of 60').waitFor()
    // A copied name through two references links to its rows by the reference from which it is copied.
    await page.goto(`${server.url}/explore#/Absences?view=summary&by=EmployeeId.ManagerId.Company&and=Status`)
    await page.getByRole('group', { name: /^count by Employee: Manager: Company and Status/ }).waitFor()
    await page.locator('tbody tr', { hasText: 'Approved' }).getByRole('link', { name: 'Acme' }).click()
    await page.getByText('10 of 60').waitFor()
    expect(await hashOf(page)).toBe('#/Absences?EmployeeId.ManagerId.CompanyId=1&Status=Approved')
    await page.goto(`${server.url}/explore#/Absences?view=summary&by=Start&Period.Days=<1`)
    await page.getByText('4 groups').waitFor()
    await page.locator('tbody tr:first-child td:first-child', { hasText: '1 Jan 2026, 09:00' }).waitFor()
  })

  test('A bar of /explore shows its values on hover and focus; a bar, and each part of it, links to its rows', async () => {
    const { page } = await open('#/Absences?view=summary&by=month(Start)&and=Status', null)
    const bars = page.locator('svg a')
    const tip = page.locator('.tip')
    await bars.first().locator('[data-series="1"]').hover()
    expect(await tip.textContent()).toBe('Jan 2026Requested 20Approved 11')
    expect(await tip.locator('.on').textContent()).toBe('Approved 11')
    await bars.first().locator('[data-series="1"]').click()
    await page.getByText('11 of 60').waitFor()
    expect(await hashOf(page)).toBe('#/Absences?Start=>=2026-01-01T00:00:00Z&Start=<2026-02-01T00:00:00Z&Status=Approved')
    // A pointer that still lies on the bar would show its values again.
    await page.mouse.move(0, 0)
    await page.goBack()
    await bars.first().focus()
    await page.keyboard.press('ArrowRight')
    await tip.getByText('Feb 2026').waitFor()
    await page.keyboard.press('Escape')
    await tip.waitFor({ state: 'detached' })
    await page.keyboard.press('End')
    expect(await tip.textContent()).toBe('Mar 2026Requested 1')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('Enter')
    await page.getByText('28 of 60').waitFor()
    expect(await hashOf(page)).toBe('#/Absences?Start=>=2026-02-01T00:00:00Z&Start=<2026-03-01T00:00:00Z')
  })

  test('The bar for all other groups is drawn to scale, and links to their rows, or says why there is no link', async () => {
    const { page } = await open('#/Absences?Id=<36&view=summary&by=Period.Days', null)
    const others = page.getByRole('link', { name: 'others, 5', exact: true })
    await others.waitFor()
    const widthOf = (place: string) =>
      page.locator(`svg a:${place} [data-series]`).evaluate((one) => Number(one.getAttribute('width')))
    expect((await widthOf('last-child')) / (await widthOf('first-child'))).toBeCloseTo(5, 0)
    await others.press('Enter')
    await page.getByText('5 of 60').waitFor()
    expect((await rowsOf(page)).map(([id]) => Number(id)).sort((one, other) => one - other)).toEqual([31, 32, 33, 34, 35])
    await page.locator('.chip', { hasText: /^Period days is none of .*, 5, .*×$/ }).waitFor()
    expect(await page.locator('.chip').count()).toBe(2)
    await page.getByRole('button', { name: /^Remove Period days is none of/ }).click()
    await page.getByText('35 of 60').waitFor()
    await page.goto(`${server.url}/explore#/Companies?view=summary&by=Name`)
    await page.getByRole('img', { name: /^others, \d+, too many values for a filter: see the table below$/ }).waitFor()
  })

  test('/explore removes the second property of a summary if it is chosen as the first', async () => {
    const { page } = await open('#/Absences?view=summary&by=Type&and=Status', null)
    await page.getByText('2 groups').waitFor()
    await page.getByLabel('by', { exact: true }).selectOption('Status')
    await page.locator('th', { hasText: 'Type' }).waitFor({ state: 'detached' })
    expect(await hashOf(page)).toBe('#/Absences?view=summary&by=Status')
  })

  test('In a summary by names, /explore links each of two people of one name to the rows of that person', async () => {
    const names = { FirstName: 'Twin', LastName: 'Doe' }
    const twins = await createRows(server, '/Employees', [names, names])
    const reason = { Reason: 'twins' }
    const of = (place: number) => ({ ...reason, EmployeeId: twins[place].id })
    const absences = await createRows(server, '/Absences', [of(0), of(1), of(1)])
    const { page } = await open('#/Absences?Reason=twins&view=summary&by=Employee', null)
    await page.getByText('2 groups').waitFor()
    expect(await rowsOf(page)).toEqual([
      [`Twin Doe ${twins[0].id}`, '1'],
      [`Twin Doe ${twins[1].id}`, '2'],
    ])
    await page
      .locator('tbody')
      .getByRole('link', { name: `Twin Doe ${twins[1].id}` })
      .click()
    await page.getByText('2 of 63').waitFor()
    expect(await hashOf(page)).toBe(`#/Absences?Reason=twins&EmployeeId=${twins[1].id}`)
    for (const { id } of absences) await server.remove(`/Absences/${id}`)
    for (const { id } of twins) await server.remove(`/Employees/${id}`)
  })

  test('/explore draws names as horizontal bars (the 30 largest, and all others), averages side by side, and many dates as a line', async () => {
    const { page } = await open('#/Companies?view=summary&by=Name', null)
    await page.getByRole('group', { name: /^count by Name, .*; 31 bars$/ }).waitFor()
    expect(await page.locator('svg text').allTextContents()).toContain('others')
    // An empty operand matches both no value and the empty text, so a link of either group would show too many rows.
    const linksOf = (group: string) => page.locator('tbody tr', { has: page.locator(`bdi:text-is("${group}")`) }).locator('a')
    for (const group of ['no value', 'empty text'])
      expect([group, (await page.getByText(group).count()) > 0, await linksOf(group).count()]).toEqual([group, true, 0])
    await page.goto(`${server.url}/explore#/Companies?page=9`)
    await page.getByText('This page is past the last one.').waitFor()
    // The same number has the format of its property: employees are an integer, their days a decimal.
    await page.goto(`${server.url}/explore#/Absences?view=summary&by=Period.Days&and=EmployeeId`)
    await page.getByRole('group', { name: /^count by Period days and Employee id/ }).waitFor()
    expect((await page.locator('.legend bdi').allTextContents()).sort()).toEqual(['1', '2'])
    expect(await page.locator('svg text').allTextContents()).toContain('2.00')
    await page.goto(`${server.url}/explore#/Absences?view=summary&by=day(Start)&and=Status`)
    await page.locator('svg polyline').first().waitFor()
    expect(await page.locator('svg polyline').count()).toBe(2)
    await page.getByLabel('as', { exact: true }).selectOption('grouped bars')
    await page.locator('svg polyline').first().waitFor({ state: 'detached' })
    await page.getByLabel('Show').selectOption('average of Period days')
    const average = page.locator('th', { hasText: 'Average of Period days' })
    expect(await average.getAttribute('title')).toBe('Groups cannot be sorted by averages, minimums and maximums.')
    expect(await page.getByLabel('as', { exact: true }).locator('option').allTextContents()).toEqual(['grouped bars', 'a line'])
    // Averages do not add up, so they are not stacked, even if the address still has that style.
    await page.goto(`${server.url}/explore#/Absences?view=summary&show=average(Period.Days)&by=Status&as=stacked`)
    await page.getByRole('group', { name: /^average of Period days by Status/ }).waitFor()
    expect(await page.getByLabel('as', { exact: true }).inputValue()).toBe('grouped')
  })

  test('In a chart by month, groups whose dates a browser cannot represent come after all other groups', async () => {
    await server.sql`
      insert into absence (reason, start) values
        ('far', 'infinity'), ('far', '294276-12-31'), ('far', '2026-01-05'), ('far', '2026-03-05'), ('far', null)`
    const { page } = await open('#/Absences?Reason=far&view=summary&by=month(Start)', null)
    await page.getByRole('group', { name: /^count by month of Start, .*; 6 bars$/ }).waitFor()
    const months = await page.locator('tbody tr td:first-child').allTextContents()
    expect(months.map((month) => month.trim())).toEqual([
      'Jan 2026',
      'Mar 2026',
      '294276-12-01T00:00:00Z',
      'infinity',
      'no value',
    ])
    await server.sql`delete from absence where reason = 'far'`
  })

  test('Labels of a chart are cut between characters, and do not extend beyond the chart', async () => {
    const { page } = await open('#/Companies?Name[begins]=face&view=summary&by=Name', null, KEY, { viewport: NARROW })
    await page.getByRole('group', { name: /; 3 bars$/ }).waitFor()
    const labels = page.locator('svg text[text-anchor=end]')
    const texts = await labels.allTextContents()
    expect(texts.map((text) => text.replaceAll(FAMILY, 'F')).sort()).toEqual([
      expect.stringMatching(/^face F+…$/),
      expect.stringMatching(/^face [漢字]+…$/),
      expect.stringMatching(/^faces F+…$/),
    ])
    const [least, ...lefts] = await labels.evaluateAll((all) => {
      const left = all[0]?.closest('svg')?.getBoundingClientRect().left ?? 0
      return [left, ...all.map((label) => label.getBoundingClientRect().left)]
    })
    expect(lefts.filter((left) => left < (least as number))).toEqual([])
  })

  test('A label of a chart is cut after 100 code units, also if they have no width', async () => {
    const { id } = await createRow(server, '/Employees', { LastName: `unseen${'\u200b'.repeat(150)}` })
    try {
      const { page } = await open('#/Employees?LastName[begins]=unseen&view=summary&by=LastName', null)
      await page.getByRole('group', { name: /; 1 bars$/ }).waitFor()
      const [label = ''] = await page.locator('svg text[text-anchor=end]').allTextContents()
      expect([label.replaceAll('\u200b', ''), label.length]).toEqual(['unseen…', 101])
    } finally {
      await server.remove(`/Employees/${id}`)
    }
  })

  test('/explore suggests the values that most rows have', async () => {
    const { page } = await open('#/Absences', '60')
    await page.keyboard.press('/')
    await page.getByLabel('Property').selectOption('Employee')
    await page.locator('datalist option[value="Grace Murray"]').waitFor({ state: 'attached' })
  })

  test('/explore says that the resource of a link does not exist, and shows no other resource instead', async () => {
    const { page } = await open('#/<img src=x onerror=alert(1)>', null)
    await page.getByText('There is no resource <img src=x onerror=alert(1)>, or this key may not read it.').waitFor()
    await page.goto(`${server.url}/explore#/%ZZ%ff`)
    await page.getByText(/^There is no resource/).waitFor()
  })

  test.each([
    ['', null, 'Key'],
    ['#/Absences?Status=Approved&sort=-Start&row=1', KEY, 'Absence 1'],
    ['#/Absences?view=summary&show=sum(Period.Days)&and=Status&row=1', KEY, 'Sum of Period days'],
    ['#/Absences?Statsu=A', KEY, 'Absences has no parameter "Statsu". Did you mean Status?'],
    ['#/Absences?view=summary&by=Statsu&and=Type', KEY, 'Absences have no property "Statsu". Did you mean Status?'],
  ])('axe finds no fault in /explore%s, in a wide light and in a narrow dark window', async (hash, key, text) => {
    const { page } = await open(hash, text, key, { colorScheme: 'light', viewport: { width: 1280, height: 800 } })
    if (key !== null) await page.keyboard.press('/')
    await page.evaluate(axe.source)
    const faults = async () => {
      // The chart is drawn again for another width, and rows are dimmed while an answer is late. The page's CSP does not allow
      // waitForFunction.
      await until(async () => (await page.evaluate(`${OVERFLOW} === 0 && document.querySelector('.late') === null`)) === true)
      const { violations } = (await page.evaluate('axe.run()')) as axe.AxeResults
      return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])
    }
    expect(await faults()).toEqual([])
    await page.setViewportSize(NARROW)
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await faults()).toEqual([])
  })
})
