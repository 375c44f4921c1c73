import { beforeAll, expect, test } from 'bun:test'
import type { BrowserContextOptions } from 'playwright-core'
import { getDocumentProxy } from 'unpdf'
import { describeInBrowser, useBrowser } from '../support/browser.ts'
import { createRows } from '../support/rows.ts'
import { KEY } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const ROWS = 50
const LONG = 'a reason of many words '.repeat(4).trim()
const WORD = 'W'.repeat(100)
/** Runs in the page: returns headers, rows by cell, and the text of the footer. */
const SHOWN = `({
  headers: [...document.querySelectorAll('th')].map((cell) => cell.innerText),
  rows: [...document.querySelectorAll('tbody tr')].map((row) => [...row.cells].map((cell) => cell.innerText)),
  footer: document.querySelector('footer span').innerText,
})`
/** Runs in the page: returns cells whose text overlaps the next cell. */
const CUT = `[...document.querySelectorAll('th, td')].filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.innerText)`
/** Width of A4 in landscape between its margins, in pixels. */
const PAPER_WIDTH = Math.floor((277 / 25.4) * 96)
const squeezed = (text: string) => text.replaceAll(/\s/g, '')

interface Shown {
  readonly headers: readonly string[]
  readonly rows: readonly (readonly string[])[]
  readonly footer: string
}

describeInBrowser('/explore printed by Chromium', () => {
  const server = useServer()
  const browser = useBrowser()
  let columns: readonly string[] = []
  beforeAll(async () => {
    const { properties } = (await server.get('/openapi.json')).body.components.schemas.Employee
    // Without related properties: a table with all of them does not fit on a sheet.
    const own = Object.keys(properties).filter((name) => !name.includes('.'))
    columns = own.map((name) => name.charAt(0).toUpperCase() + name.slice(1))
    await createRows(server, '/Companies', [{ Name: 'Analytical Engines' }, { Name: WORD }])
    const people = Array.from({ length: ROWS }, (_, place) => ({
      ...{ EmployeeNumber: `E-${10_000 + place}`, Title: 'Dr', FirstName: 'Maximiliane', MiddleName: 'Antonia', KnownAs: 'Maxi' },
      ...{ LastName: `Wolkenstein-Trostburg ${place}`, WorkEmail: `maximiliane.wolkenstein${place}@engines.example.com` },
      ...{ WorkPhone: '+44 20 7946 0000', WorkMobile: '+44 7700 900000', CompanyId: 1, ManagerId: place === 0 ? null : 1 },
      ...{ Department: 'Research', Division: 'Mills', Location: 'Marylebone', JobTitle: 'Programmer', JobLevel: 'Senior' },
      ...{ Type: 'FullTime', Status: 'Current', Started: '2024-02-01T09:00:00Z', ContinuousStart: '2023-02-01T09:00:00Z' },
      ...{ ContractEnd: '2027-01-31T17:00:00Z', EmploymentEnd: '2027-01-31T17:00:00Z' },
    }))
    await createRows(server, '/Employees', people)
    const absences = Array.from({ length: 120 }, (_, place) => ({
      ...{ EmployeeId: 1 + (place % ROWS), Status: 'Approved', Type: `Type ${place % 3}`, Reason: LONG },
      ...{ Start: new Date(Date.UTC(2026, 0, 1 + place, 9)).toISOString(), Period: { Days: place / 4 } },
    }))
    await createRows(server, '/Absences', absences)
  })

  /** Opens a view, and waits for an element that matches the selector. */
  async function open(hash: string, part: string, options?: BrowserContextOptions) {
    const { page } = await browser.open(`${server.url}/explore#key=${KEY}`, { locale: 'en-GB', ...options })
    page.setDefaultTimeout(60_000)
    await page.locator('h1').first().waitFor()
    await page.evaluate(`localStorage.setItem('roster.columns.Employees', '${JSON.stringify(columns)}')`)
    await page.goto('about:blank')
    await page.goto(`${server.url}/explore${hash}`)
    await page.locator(part).first().waitFor()
    return page
  }

  /** Prints a view; returns what it shows, the text of each sheet without spaces, and what is outside of its sheet or cell. */
  async function print(hash: string, part = 'tbody tr', options?: BrowserContextOptions) {
    const page = await open(hash, part, options)
    const shown = (await page.evaluate(SHOWN)) as Shown
    const file = await getDocumentProxy(new Uint8Array(await page.pdf({ preferCSSPageSize: true })))
    const sheets: string[] = []
    const outside: string[] = []
    let isLandscape = true
    for (let number = 1; number <= file.numPages; number++) {
      const sheet = await file.getPage(number)
      const [, , width = 0, height = 0] = sheet.view
      isLandscape &&= width > height
      const items = (await sheet.getTextContent()).items.flatMap((item) => ('str' in item ? item : []))
      sheets.push(squeezed(items.map(({ str }) => str).join('')))
      for (const { str, transform, width: long } of items) {
        const [left, bottom] = transform.slice(4)
        if (str.trim() === '') continue
        if (left < 0 || left + long > width || bottom < 0 || bottom > height) outside.push(str)
      }
    }
    await page.emulateMedia({ media: 'print' })
    await page.setViewportSize({ width: PAPER_WIDTH, height: 700 })
    outside.push(...((await page.evaluate(CUT)) as string[]))
    return { page, shown, sheets, outside, isLandscape }
  }
  const textOf = (row: readonly string[]) => squeezed(row.join(''))

  test('A printed table has every row with all its cells, in landscape, and headers on each sheet', async () => {
    const { shown, sheets, outside, isLandscape } = await print('#/Employees')
    expect([shown.rows.length, shown.headers.length, shown.footer]).toEqual([ROWS, columns.length, `1 – ${ROWS} of ${ROWS}`])
    expect(shown.rows.filter((row) => !sheets.some((sheet) => sheet.includes(textOf(row)))).map(([id]) => id)).toEqual([])
    const tables = sheets.filter((sheet) => sheet.includes('Wolkenstein'))
    expect(tables.length).toBeGreaterThan(1)
    expect(tables.filter((sheet) => !sheet.includes(textOf(shown.headers)))).toEqual([])
    expect([outside, isLandscape]).toEqual([[], true])
  })

  test('A printed table has no buttons or other controls', async () => {
    const { sheets } = await print('#/Employees?LastName=!=nobody')
    const text = sheets.join('')
    expect(text).toContain('LastnameisnotnobodyId')
    expect(text).not.toMatch(/DownloadCSV|Copyascurl|Forget|Columns|Filter|Next|×/)
  })

  test('A printed summary has its chart and every group', async () => {
    const { shown, sheets, outside } = await print(
      '#/Absences?view=summary&show=sum(Period.Days)&by=day(Start)&and=Type',
      'svg polyline',
    )
    const text = sheets.join('')
    expect([shown.rows.length, shown.footer]).toEqual([100, '1 – 100 of 120 groups'])
    expect(shown.rows.filter((row) => !text.includes(textOf(row))).map(([day, type]) => [day, type])).toEqual([])
    // The legend comes before the groups.
    const legend = text.slice(0, text.indexOf(textOf(shown.headers)))
    expect([0, 1, 2].filter((number) => !legend.includes(`Type${number}`))).toEqual([])
    expect(outside).toEqual([])
  })

  test('An open row is printed completely, below the table', async () => {
    const { page, sheets, outside } = await print('#/Absences?row=1&PageSize=20', 'aside ol')
    const values = (await page.locator('aside dd').allInnerTexts()).map(squeezed)
    const text = sheets.join('')
    const panel = text.slice(text.lastIndexOf('Absence1'))
    expect(values.filter((value) => !panel.includes(value))).toEqual([])
    expect([values.includes(squeezed(LONG)), panel.includes(':Created'), outside]).toEqual([true, true, []])
  })

  test.each([
    ['a dark screen', { colorScheme: 'dark' }],
    ['a narrow window', { viewport: { width: 360, height: 740 } }],
  ] as const)('A table on %s is printed dark on light, with every row', async (_, options) => {
    const { page, shown, sheets, outside } = await print('#/Employees', 'tbody tr', options)
    const text = sheets.join('')
    expect([shown.rows.filter((row) => !text.includes(textOf(row))).map(([id]) => id), outside]).toEqual([[], []])
    const colours = '(({ color, backgroundColor }) => [color, backgroundColor])(getComputedStyle(document.body))'
    expect(await page.evaluate(colours)).toEqual(['rgb(27, 31, 35)', 'rgb(255, 255, 255)'])
  })

  test('A printed word that is wider than a sheet is broken into lines', async () => {
    const { sheets, outside } = await print('#/Companies')
    expect([sheets.join('').includes(WORD), outside]).toEqual([true, []])
  })
})
