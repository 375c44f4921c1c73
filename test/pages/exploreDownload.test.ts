import { beforeAll, expect, test } from 'bun:test'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { describeInBrowser, useBrowser } from '../support/browser.ts'
import { leaveOut, temporaryFolder } from '../support/process.ts'
import { createRows } from '../support/rows.ts'
import { KEY } from '../support/server.ts'
import { cellsOf, GERMAN, openByLibreOffice } from '../support/spreadsheet.ts'
import { useServer } from '../support/start.ts'

const MARK = '\ufeff'
const TABLE = '#/Absences?Type=Holiday&sort=-Start'
const COLUMNS = ['Start', 'Employee', 'Reason', 'Period.Days']
const SUMMARY = '#/Absences?view=summary&show=sum(Period.Days)&by=month(Start)&and=Employee'

describeInBrowser('downloads of /explore in Chromium', () => {
  const server = useServer()
  const browser = useBrowser()
  beforeAll(async () => {
    await createRows(server, '/Employees', [
      { FirstName: 'Ingrid', LastName: 'Öberg', EmployeeNumber: 'E0005' },
      { FirstName: '=1+1', LastName: ';=1+1' },
    ])
    await createRows(server, '/Absences', [
      { EmployeeId: 1, Type: 'Holiday', Reason: '=1+1', Start: '2026-03-01T09:00:00Z', Period: { Days: 2.5 } },
      { EmployeeId: 2, Type: 'Holiday', Reason: 'a;=1+1', Start: '2026-04-01T09:00:00Z', Period: { Days: 12 } },
      { EmployeeId: 2, Type: 'Sickness', Start: '2026-05-01T09:00:00Z', Period: { Days: 1 } },
    ])
  })

  /** Opens a view in a browser of this language, with a few columns of absences. */
  async function open(hash: string, locale: string, names = COLUMNS) {
    const { page } = await browser.open(`${server.url}/explore#key=${KEY}`, { locale })
    page.setDefaultTimeout(60_000)
    await page.locator('h1').first().waitFor()
    const columns = JSON.stringify(names)
    await page.evaluate(`localStorage.setItem('roster.columns.Absences', ${JSON.stringify(columns)})`)
    await page.goto('about:blank')
    await page.goto(`${server.url}/explore${hash}`)
    await page.locator('tbody tr').first().waitFor()
    return page
  }

  async function download(page: Page, choice: string) {
    const asked: string[] = []
    page.on('request', (request) => {
      if (request.headers().accept === 'text/csv') asked.push(new URL(request.url()).search)
    })
    await page.locator('summary', { hasText: 'Download CSV' }).click()
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: choice, exact: true }).click(),
    ])
    const path = await saved.path()
    return {
      name: saved.suggestedFilename(),
      path,
      text: await Bun.file(path)
        .bytes()
        .then((bytes) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)),
      asked,
    }
  }

  test('A table for Excel has the visible columns, a byte order mark, and the CSV format of the language of the browser', async () => {
    const { name, text, asked } = await download(await open(TABLE, 'de-DE'), 'For Excel')
    expect(name).toBe('Absences.csv')
    expect(text.split('\r\n')).toEqual([
      `${MARK}employee;reason;start;period.days`,
      `"'=1+1 ;'=1+1";"a;'=1+1";2026-04-01 09:00:00;12,00000000`,
      `Ingrid Öberg;'=1+1;2026-03-01 09:00:00;2,50000000`,
      '',
    ])
    expect(asked).toEqual(['?Type=Holiday&sort=-Start&fields=Start,Employee,Reason,Period.Days&bom=1&excel=1&locale=de-DE'])
  })

  test('A table for programs has all properties in the format of the API', async () => {
    const { text } = await download(await open(TABLE, 'de-DE'), 'For programs')
    expect(text).toBe((await server.get('/Absences?Type=Holiday&sort=-Start', { accept: 'text/csv' })).text)
  })

  test('A table for programs has all properties of its resource, and the related properties that are visible', async () => {
    const page = await open(TABLE, 'en-GB', ['Employee', 'EmployeeId.EmployeeNumber'])
    const { text, asked } = await download(page, 'For programs')
    const own = 'id,status,employeeId,employee,type,reason,start,end,period.prefered,period.days,period.hours'
    expect(text.split('\r\n')).toEqual([
      `${own},employeeId.employeeNumber`,
      '2,,2,=1+1 ;=1+1,Holiday,a;=1+1,2026-04-01T09:00:00Z,,,12.00000000,,',
      '1,,1,Ingrid Öberg,Holiday,=1+1,2026-03-01T09:00:00Z,,,2.50000000,,E0005',
      '',
    ])
    expect(asked).toHaveLength(1)
  })

  test('A summary for Excel has a byte order mark, and the CSV format of the language of the browser', async () => {
    const { name, text } = await download(await open(SUMMARY, 'de-DE'), 'For Excel')
    expect(name).toBe('Absences-summary.csv')
    expect(text.split('\r\n').slice(0, 3)).toEqual([
      `${MARK}start;employee;employeeId;count;sum.period.days`,
      '2026-03-01 00:00:00;Ingrid Öberg;1;1;2,50000000',
      `2026-04-01 00:00:00;"'=1+1 ;'=1+1";2;1;12,00000000`,
    ])
  })

  test('A summary for programs has the format of the API', async () => {
    const { text } = await download(await open(SUMMARY, 'de-DE'), 'For programs')
    const query = 'groupBy=month(Start),Employee&sum=Period.Days'
    expect(text).toBe((await server.get(`/Absences/Summary?${query}`, { accept: 'text/csv' })).text)
  })

  // Arabic of Egypt has its own decimal mark, but a point with Latin digits; no program knows the language xx.
  test.each([
    ['en-GB', ['en-GB'], ','],
    ['ar-EG', ['ar-EG-u-nu-latn'], ','],
    ['fr-CA', ['fr-CA'], ';'],
    ['xx', ['xx', null], ','],
    ['xx,de,en', ['xx', 'de'], ';'],
  ])(
    'A CSV for Excel from a browser in %s has the format of the nearest language that the server knows',
    async (language, locales, separator) => {
      const page = await open(TABLE, 'en-GB')
      const session = await page.context().newCDPSession(page)
      const userAgent = (await page.evaluate('navigator.userAgent')) as string
      await session.send('Emulation.setUserAgentOverride', { userAgent, acceptLanguage: language })
      expect(await page.evaluate('navigator.languages')).toEqual(language.split(','))
      const { text, asked } = await download(page, 'For Excel')
      expect(asked.map((search) => new URLSearchParams(search).get('locale'))).toEqual(locales)
      expect(text.split('\r\n')[0]).toBe(MARK + ['employee', 'reason', 'start', 'period.days'].join(separator))
    },
  )

  test('A German LibreOffice reads both CSVs for Excel as texts, dates and numbers, and evaluates no formula', async () => {
    if (!Bun.which('soffice'))
      return leaveOut('CI_REQUIRES_LIBREOFFICE', 'there is no soffice: apt-get install libreoffice-calc-nogui')
    const { path: folder } = temporaryFolder()
    const files = ['table.csv', 'summary.csv'].map((name) => join(folder, name)) as [string, string]
    for (const [place, hash] of [TABLE, SUMMARY].entries())
      copyFileSync((await download(await open(hash, 'de-DE'), 'For Excel')).path, files[place] as string)
    const sheets = await openByLibreOffice(files, ';', GERMAN)
    expect(sheets.flat().filter((row) => row.includes('table:formula='))).toEqual([])
    // LibreOffice itself shows numbers in English here.
    const [table = [], summary = []] = sheets.map((rows) => rows.map((row) => cellsOf(row).map(({ date, text }) => date ?? text)))
    expect(table.slice(1)).toEqual([
      ["'=1+1 ;'=1+1", "a;'=1+1", '2026-04-01T09:00:00', '12'],
      ['Ingrid Öberg', "'=1+1", '2026-03-01T09:00:00', '2.5'],
    ])
    expect(summary.slice(1, 3)).toEqual([
      ['2026-03-01', 'Ingrid Öberg', '1', '1', '2.5'],
      ['2026-04-01', "'=1+1 ;'=1+1", '2', '1', '12'],
    ])
    const types = sheets.map(([, row = '']) => cellsOf(row).map(({ type }) => type))
    expect(types).toEqual([
      ['string', 'string', 'date', 'float'],
      ['date', 'string', 'float', 'float', 'float'],
    ])
  })

  test('A download by keyboard does not move the focus', async () => {
    const page = await open(TABLE, 'en-GB')
    await page.locator('summary', { hasText: 'Download CSV' }).focus()
    for (const key of ['Enter', 'Tab']) await page.keyboard.press(key)
    const [saved] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Enter')])
    expect(await Bun.file(await saved.path()).text()).toStartWith('employee,')
    await page.locator('summary:focus', { hasText: 'Download CSV' }).waitFor()
  })

  test('Menus of /explore fit a narrow window', async () => {
    const page = await open(TABLE, 'en-GB')
    await page.setViewportSize({ width: 360, height: 740 })
    await page.evaluate(axe.source)
    for (const name of ['Columns', 'Download CSV']) {
      await page.locator('summary', { hasText: name }).click()
      const { x, width } = (await page.locator('details[open] .popover').boundingBox()) as { x: number; width: number }
      expect([name, x >= 0, x + width <= 360]).toEqual([name, true, true])
      expect(((await page.evaluate('axe.run()')) as axe.AxeResults).violations).toEqual([])
      // A sheet covers the button of the other menu.
      await page.keyboard.press('Escape')
    }
  })

  test('A menu of /explore closes on Escape, and when another one opens', async () => {
    const page = await open(TABLE, 'en-GB')
    const opened = () => page.locator('details[open] summary').allInnerTexts()
    await page.locator('summary', { hasText: 'Columns' }).click()
    await page.locator('summary', { hasText: 'Download CSV' }).click()
    expect(await opened()).toEqual(['Download CSV'])
    await page.keyboard.press('Escape')
    await page.locator('summary:focus', { hasText: 'Download CSV' }).waitFor()
    expect(await opened()).toEqual([])
  })
})
