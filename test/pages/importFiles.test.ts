import { beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { describeInBrowser, useBrowser } from '../support/browser.ts'
import { openForms } from '../support/formPages.ts'
import { chooseFile, columnChoice, dropFile, meanings, rowsOf, workbookOf } from '../support/importPage.ts'
import { createRows } from '../support/rows.ts'
import { makeKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const whole = makeKey()
const other = makeKey()
const slow = makeKey({ limits: '12/10s' })
const reader = makeKey({ rights: 'Employees:read' })
const limited = makeKey({ rights: '', addresses: 'read Employees\ncreate Employees?fields=EmployeeNumber,FirstName' })
const keys = [whole, other, slow, reader, limited].map(({ record }) => record)

describeInBrowser('the import of /explore', () => {
  const server = useServer({ keys })
  const browser = useBrowser()
  beforeAll(async () => {
    await createRows(server, '/Companies', [{ Name: 'Orbital Freight' }, { Name: 'Lindqvist Foods' }])
  })
  const open = (hash: string, key = whole) => openForms(browser, server, key.text, hash)

  test('a dropped CSV in German creates its rows after two clicks, with the company by its name', async () => {
    const forms = await open('#/Employees')
    await forms.button('Import').waitFor()
    const lines = [
      'EmployeeNumber;First name;Last name;Arbeitgeber;Started',
      'L0017;Jürgen;Müller;Orbital Freight;01.09.2026',
      'L0018;Zoë;Weiß;Lindqvist Foods;15.10.2026',
    ]
    await dropFile(forms, { name: 'leute.csv', content: lines.join('\r\n') })
    expect(await meanings(forms)).toEqual(['Employee number', 'First name', 'Last name', 'left out', 'Started'])
    expect(await forms.page.locator('table.columns thead th').allInnerTexts()).toEqual(['In the file', 'Goes to', 'Values'])
    await columnChoice(forms, 'Arbeitgeber').selectOption({ label: 'Company: by name' })
    expect(await rowsOf(forms.page.getByRole('region', { name: 'The first rows' }))).toEqual([
      ['Employee number', 'First name', 'Last name', 'Started', 'Company'],
      ['L0017', 'Jürgen', 'Müller', '1 Sept 2026, 00:00', 'Orbital Freight'],
      ['L0018', 'Zoë', 'Weiß', '15 Oct 2026, 00:00', 'Lindqvist Foods'],
    ])
    expect(await forms.violations()).toEqual([])
    await forms.press('Check the file')
    await forms.press('Import: create 2')
    await forms.message('leute.csv was imported: 2 created, 0 changed.')
    const { body } = await server.get('/Employees?EmployeeNumber[begins]=L00&sort=EmployeeNumber')
    expect(body.map(({ displayName, company, started }: Record<string, unknown>) => [displayName, company, started])).toEqual([
      ['Jürgen Müller', 'Orbital Freight', '2026-09-01T00:00:00Z'],
      ['Zoë Weiß', 'Lindqvist Foods', '2026-10-15T00:00:00Z'],
    ])
    expect(await forms.violations()).toEqual([])
    expect(forms.complaints).toEqual([])
  })

  test('faults of a file are named by line and header, equal faults once, and nothing is written', async () => {
    const forms = await open('#/Employees?form=import')
    const lines = ['People', 'FirstName;Company;Eintritt', 'Ada;Orbital Freigt;2026-09-01', 'Bo;;33.13.2026', 'Cy;;31.12.26']
    await chooseFile(forms, { name: 'faults.csv', content: lines.join('\n') })
    expect(await meanings(forms)).toEqual(['First name', 'Company: by name', 'Started'])
    await forms.press('Check the file')
    const alert = forms.page.getByRole('alert').filter({ hasText: 'faults.csv has faults' })
    await alert.waitFor()
    expect(await alert.locator('li').allInnerTexts()).toEqual([
      'Line 3: Company: none has the name “Orbital Freigt”. Is “Orbital Freight” meant?',
      'Line 4, column “Eintritt”: Started is no day such as 2026-09-01. If the file writes days in another way, choose its language above. It is "33.13.2026".',
      'Line 5, column “Eintritt”: Started: write years with four digits. It is "31.12.26".',
    ])
    expect(await forms.violations()).toEqual([])
    expect(await forms.page.getByRole('button', { name: /^Import: / }).count()).toBe(0)
    expect(forms.complaints).toEqual([])
  })

  test('an .xlsx of 200 people is imported, a corrected one changes the rows that differ, and both are undone', async () => {
    const forms = await open('#/Employees?form=import')
    const header = ['Kennung', 'First name', 'Last name', 'Company', 'Started', 'Bemerkung']
    const people = Array.from({ length: 200 }, (_, index) => [
      `X${String(index).padStart(4, '0')}`,
      `Vorname ${index}`,
      index === 7 ? 'Weiß' : 'Müller',
      index % 2 ? 'Orbital Freight' : 'Lindqvist Foods',
      new Date(Date.UTC(2026, 8, 1 + (index % 28))),
      index % 3 ? null : 'Teilzeit',
    ])
    const content = workbookOf({ Mitarbeiter: [['Liste'], header, ...people], Kosten: [['Monat'], [1]] })
    await chooseFile(forms, { name: 'leute.xlsx', content })
    expect(await meanings(forms)).toEqual(['left out', 'First name', 'Last name', 'Company: by name', 'Started', 'left out'])
    await columnChoice(forms, 'Kennung').selectOption({ label: 'Employee number' })
    await forms.press('Check the file')
    await forms.press('Import: create 200')
    await forms.message('leute.xlsx was imported: 200 created, 0 changed.')
    const total = async () => (await server.get('/Employees?EmployeeNumber[begins]=X&PageSize=5')).headers.get('x-total-count')
    expect(await total()).toBe('200')
    const corrected = people.map((row, index) => (index === 7 ? [...row.slice(0, 2), 'Weiss', ...row.slice(3)] : row))
    await chooseFile(forms, { name: 'leute.xlsx', content: workbookOf({ Mitarbeiter: [header, ...corrected] }) })
    // What a header means is remembered.
    expect((await meanings(forms))[0]).toBe('Employee number')
    await forms.press('Check the file')
    expect(await rowsOf(forms.page.getByRole('region', { name: 'Changes' }))).toEqual([
      ['In the file', 'Row', 'Property', 'Now', 'Becomes'],
      ['row 9', 'X0007', 'Last name', 'Weiß', 'Weiss'],
    ])
    expect(await forms.page.getByText('0 new, 1 changed, 199 as they are.').count()).toBe(1)
    expect(await forms.violations()).toEqual([])
    await forms.press('Import: change 1')
    await forms.message('leute.xlsx was imported: 0 created, 1 changed.')
    const [entry] = await server.get('/Employees?EmployeeNumber=X0007').then(({ body }) => body)
    expect(entry.lastName).toBe('Weiss')
    await server.patch(`/Employees/${entry.id}`, { Department: 'Changed by another' })
    for (const [place, question, message] of [
      [0, 'Change 1 back', '0 deleted, 1 changed back'],
      [1, 'Delete 200', '199 deleted, 0 changed back'],
    ] as const) {
      const item = forms.page.locator('li.item').nth(place)
      await item.getByRole('button', { name: 'Undo leute.xlsx' }).click()
      await item.getByRole('button', { name: question }).click()
      await forms.message(message)
    }
    expect(await total()).toBe('1')
    expect(await forms.page.getByText(`Employee ${entry.id}: somebody has changed Department since. It stays.`).count()).toBe(1)
    expect(await forms.violations()).toEqual([])
    // The undo learns the version of the rows from a refusal.
    expect(forms.complaints.filter((text) => !text.includes('status of 412'))).toEqual([])
  })
  test('a download for Excel can be imported again without a change, and an edited cell becomes a change', async () => {
    await createRows(server, '/Employees', [
      { EmployeeNumber: 'D1', FirstName: "'Ada", LastName: '=Byron', CompanyId: 1, Started: '2026-01-05T08:30:00Z' },
      { EmployeeNumber: 'D2', FirstName: 'Grace; "G"', LastName: 'Hopper\nII', JobTitle: ' Admiral', CompanyId: 2 },
      { FirstName: 'Without', LastName: 'Number' },
    ])
    const forms = await openForms(browser, server, whole.text, '#/Employees', { locale: 'de-DE' })
    await forms.page.locator('summary', { hasText: 'Download' }).click()
    const saved = forms.page.waitForEvent('download')
    await forms.page.getByRole('button', { name: 'For Excel' }).click()
    const content = readFileSync(await (await saved).path(), 'utf8')
    await forms.page.keyboard.press('Escape')
    await dropFile(forms, { name: 'Employees.csv', content })
    await forms.press('Check the file')
    await forms.page.getByText('Nothing to do: all rows are there as in the file.').waitFor()
    await chooseFile(forms, { name: 'Employees.csv', content: content.replace('"Grace; ""G"""', 'Grace') })
    await forms.press('Check the file')
    const changes = await rowsOf(forms.page.getByRole('region', { name: 'Changes' }))
    expect(changes.map((cells) => cells.slice(2))).toEqual([
      ['Property', 'Now', 'Becomes'],
      ['First name', 'Grace; "G"', 'Grace'],
    ])
    expect(forms.complaints).toEqual([])
  })

  test('an import whose page was closed is continued by the same key, not by another, and creates nobody twice', async () => {
    const lines = Array.from({ length: 250 }, (_, index) => `C${1000 + index},Closed ${index}`)
    const forms = await open('#/Employees?form=import')
    await chooseFile(forms, { name: 'closed.csv', content: ['EmployeeNumber,FirstName', ...lines].join('\n') })
    await forms.press('Check the file')
    // The second request is carried out, and its answer is lost. The route stays until the page is reloaded: without it, the browser
    // would send the request that the route holds, and the page could go on before it is closed.
    let requests = 0
    await forms.page.route(/\/Employees$/, async (route) => {
      if (++requests !== 2) return route.continue()
      await route.fetch()
      return new Promise(() => undefined)
    })
    await forms.press('Import: create 250')
    const createdNow = async () =>
      (await server.get('/Employees?EmployeeNumber[begins]=C1&PageSize=5')).headers.get('x-total-count')
    while ((await createdNow()) !== '200') await Bun.sleep(20)
    await forms.page.reload()
    await forms.page.getByText('not finished: 100 created, 0 changed').waitFor()
    await forms.button('Continue closed.csv').click()
    await forms.message('closed.csv was imported: 250 created, 0 changed.')
    expect(await createdNow()).toBe('250')
    await forms.page.evaluate(`sessionStorage.setItem('roster.key', ${JSON.stringify(other.text)})`)
    await forms.page.reload()
    await forms.page.getByLabel(/drop it here/).waitFor()
    expect(await forms.page.getByText('closed.csv').count()).toBe(0)
  })

  test('a line with a total below the table is left out, unless the reader includes it', async () => {
    const forms = await open('#/Employees?form=import')
    const lines = ['EmployeeNumber,FirstName,Hours', 'F-1,Ada,40', 'F-2,Bo,38', 'Summe,,78']
    await chooseFile(forms, { name: 'total.csv', content: lines.join('\n') })
    await forms.page.getByText('Line 4, “Summe”, seems to be a total or a note: it is left out.').waitFor()
    await forms.press('Check the file')
    await forms.button('Import: create 2').waitFor()
    expect(await forms.violations()).toEqual([])
    await forms.page.getByLabel('Take it, too').check()
    await forms.press('Check the file')
    await forms.button('Import: create 3').waitFor()
  })

  test('a message names an employee number that two lines of the file have', async () => {
    const forms = await open('#/Employees?form=import')
    const lines = ['EmployeeNumber,FirstName', 'R-1,Ada', 'R-2,Bo', 'R-2,Cy']
    await chooseFile(forms, { name: 'repeated.csv', content: lines.join('\n') })
    await forms.press('Check the file')
    await forms.page.getByText('Lines 3 and 4 have the same Employee number, “R-2”.').waitFor()
    expect(await forms.page.getByRole('heading', { name: 'What it does' }).count()).toBe(1)
    expect(await forms.violations()).toEqual([])
  })

  test('a column Status with yes and no is left out at first, and the page says why', async () => {
    const forms = await open('#/Employees?form=import')
    const lines = ['EmployeeNumber;Status', 'Y-1;Ja', 'Y-2;Nein', 'Y-3;Ja']
    await chooseFile(forms, { name: 'yes.csv', content: lines.join('\n') })
    expect(await meanings(forms)).toEqual(['Employee number', 'left out'])
    await forms.page.getByText('It says yes and no: choose Status if it is meant.').waitFor()
    expect(await forms.violations()).toEqual([])
    await columnChoice(forms, 'Status').selectOption({ label: 'Status' })
    expect(await forms.page.getByText('It says yes and no').count()).toBe(0)
    await columnChoice(forms, 'Status').selectOption({ label: 'left out' })
    expect(await forms.page.getByText('It says yes and no').count()).toBe(0)
    await chooseFile(forms, { name: 'again.csv', content: lines.join('\n') })
    await forms.page.getByText('again.csv').waitFor()
    expect(await meanings(forms)).toEqual(['Employee number', 'left out'])
    expect(await forms.page.getByText('It says yes and no').count()).toBe(0)
  })

  test('the hint at a column with yes and no is not shown while another column is chosen for its property', async () => {
    const forms = await open('#/Employees?form=import')
    const lines = ['EmployeeNumber;Status;Lage', 'Y-1;Ja;Aktiv', 'Y-2;Nein;Ruhend']
    await chooseFile(forms, { name: 'two.csv', content: lines.join('\n') })
    const hint = forms.page.getByText('It says yes and no')
    await hint.waitFor()
    await columnChoice(forms, 'Lage').selectOption({ label: 'Status' })
    expect(await hint.count()).toBe(0)
    await columnChoice(forms, 'Lage').selectOption({ label: 'left out' })
    await hint.waitFor()
  })

  test('a column with yes and no in a download of the page is imported as a text', async () => {
    const forms = await open('#/Employees?form=import')
    await chooseFile(forms, { name: 'own.csv', content: '\uFEFFemployeeNumber,status\nO-1,Yes\nO-2,No' })
    expect(await meanings(forms)).toEqual(['Employee number', 'Status'])
  })

  test('an open file can be closed, and does not hide imports that can be undone', async () => {
    const forms = await open('#/Employees?form=import')
    const file = { name: 'twice.csv', content: 'EmployeeNumber,FirstName\nT-1,Ada' }
    await chooseFile(forms, file)
    await forms.press('Check the file')
    await forms.press('Import: create 1')
    await forms.message('twice.csv was imported: 1 created, 0 changed.')
    await chooseFile(forms, file)
    await forms.press('Check the file')
    await forms.page.getByText('Nothing to do: all rows are there as in the file.').waitFor()
    await forms.button('Undo twice.csv').click()
    await forms.press('Delete 1')
    await forms.message('1 deleted, 0 changed back')
    // The check was about rows that are deleted now, and the page does not ask about an import that was undone.
    await forms.button('Check the file').waitFor()
    expect(await forms.page.getByRole('button', { name: /^(Delete|Keep them)/ }).count()).toBe(0)
    await forms.press('Close the file')
    expect(await forms.page.locator('table.columns').count()).toBe(0)
    expect(await forms.violations()).toEqual([])
  })

  test('an undo leaves people to whom absences refer, until the absences are deleted and the rest is undone', async () => {
    const forms = await open('#/Employees?form=import')
    await chooseFile(forms, { name: 'away.csv', content: 'EmployeeNumber,FirstName\nW-1,Ada\nW-2,Bo' })
    await forms.press('Check the file')
    await forms.press('Import: create 2')
    await forms.message('away.csv was imported: 2 created')
    const [person] = await server.get('/Employees?EmployeeNumber=W-1').then(({ body }) => body)
    const [absence] = await createRows(server, '/Absences', [{ EmployeeId: person.id }])
    await forms.button('Undo away.csv').click()
    await forms.press('Delete 2')
    await forms.message('1 deleted, 0 changed back')
    const line = `Employee ${person.id} was not deleted: other rows refer to it: 1 of Absences (EmployeeId=${person.id}).`
    await forms.page.getByText(line, { exact: true }).waitFor()
    await server.remove(`/Absences/${absence?.id}`)
    await forms.button('Undo away.csv').click()
    await forms.press('Undo the rest')
    await forms.message('1 deleted, 0 changed back')
    await forms.page.getByText('undone: 2 created, 0 changed').waitFor()
  })

  test('absences are imported for people by number, to the end of the last day; a longer file adds only the new absences', async () => {
    await createRows(server, '/Employees', [{ EmployeeNumber: '00421', FirstName: 'Ada' }])
    const forms = await open('#/Absences?form=import')
    const lines = ['Personalnummer;Start;End', '00421;01.12.2026;03.12.2026', '00421;01.12.2026 09:00;04.12.2026 12:00']
    await chooseFile(forms, { name: 'abwesend.csv', content: lines.join('\n') })
    await forms.press('Check the file')
    await forms.press('Import: create 2')
    await forms.message('abwesend.csv was imported: 2 created')
    const { body } = await server.get('/Absences?sort=End')
    expect(body.map(({ employee, start, end }: Record<string, unknown>) => [employee, start, end])).toEqual([
      ['Ada', '2026-12-01T00:00:00Z', '2026-12-03T23:59:00Z'],
      ['Ada', '2026-12-01T09:00:00Z', '2026-12-04T12:00:00Z'],
    ])

    // Absences have no number by which to find them: a longer file also has the absences that were already imported.
    const longer = [...lines, '00421;07.12.2026;07.12.2026'].join('\n')
    await chooseFile(forms, { name: 'abwesend.csv', content: longer })
    await forms.press('Check the file')
    await forms.page.getByText('2 rows are there already, with the same values').waitFor()
    await forms.page.getByText(/^line 2 is as row \d+: 00421 \(Ada\); 1 Dec 2026, 00:00; 3 Dec 2026, 23:59$/).waitFor()
    const [, first] = await rowsOf(forms.page.getByRole('region', { name: 'The first rows' }))
    expect(first).toEqual(['00421 (Ada)', '1 Dec 2026, 00:00', '3 Dec 2026, 23:59'])
    await forms.press('Import: create 1')
    await forms.message('abwesend.csv was imported: 1 created')
    await chooseFile(forms, { name: 'abwesend.csv', content: longer })
    await forms.press('Check the file')
    await forms.page.getByText('0 new, 0 changed, 3 as they are.').waitFor()
    expect(await forms.page.getByRole('button', { name: /^Import: / }).count()).toBe(0)
    await forms.page.getByLabel('Create them again').check()
    await forms.button('Import: create 3').waitFor()
    expect(await forms.violations()).toEqual([])
  })

  test('an import is offered only to a key that may create rows, for the properties that its right lets it set', async () => {
    const reading = await open('#/Employees', reader)
    await reading.button('Copy as curl').waitFor()
    expect(await reading.button('Import').count()).toBe(0)
    await dropFile(reading, { name: 'a.csv', content: 'FirstName\nA' })
    expect(await reading.page.getByRole('heading', { name: 'Import employees' }).count()).toBe(0)
    const forms = await open('#/Employees?form=import', limited)
    await chooseFile(forms, { name: 'limited.csv', content: 'EmployeeNumber,FirstName,JobTitle\nR1,Ada,Analyst' })
    expect(await meanings(forms)).toEqual(['Employee number', 'First name', 'left out'])
    expect(await columnChoice(forms, 'JobTitle').locator('option').allInnerTexts()).toEqual([
      'left out',
      'Employee number',
      'First name',
      'Id (finds the row)',
    ])
    await forms.press('Check the file')
    await forms.press('Import: create 1')
    await forms.message('limited.csv was imported: 1 created, 0 changed.')
    expect(await forms.page.getByRole('button', { name: /^Undo limited/ }).count()).toBe(0)
    expect(reading.complaints).toEqual([])
  })

  test('the import fits on a phone without scrolling sideways', async () => {
    const options = { viewport: { width: 360, height: 700 }, hasTouch: true }
    const forms = await openForms(browser, server, whole.text, '#/Employees?form=import', options)
    await chooseFile(forms, { name: 'phone.csv', content: 'EmployeeNumber,FirstName,A header that is rather long\nP1,Ada,x' })
    await forms.press('Check the file')
    await forms.button('Import: create 1').waitFor()
    expect(await forms.page.evaluate('document.documentElement.scrollWidth')).toBe(360)
    expect(await forms.violations()).toEqual([])
  })

  test('an import waits when the rate limit of its key is reached, and then continues without a click', async () => {
    const forms = await open('#/Employees?form=import', slow)
    const refused: number[] = []
    forms.page.on('response', (response) => response.status() === 429 && refused.push(429))
    const lines = Array.from({ length: 450 }, (_, index) => `L${1000 + index},Slow ${index}`)
    await chooseFile(forms, { name: 'slow.csv', content: ['EmployeeNumber,FirstName', ...lines].join('\n') })
    await forms.press('Check the file')
    await forms.press('Import: create 450')
    await forms.message('slow.csv was imported: 450 created, 0 changed.')
    expect(refused.length).toBeGreaterThan(0)
    const { headers } = await server.get('/Employees?EmployeeNumber[begins]=L1&PageSize=5')
    expect(headers.get('x-total-count')).toBe('450')
  })

  test('managers that the same file creates can be set by a second import, which changes the rows of the first', async () => {
    const forms = await open('#/Employees?form=import')
    const file = { name: 'team.csv', content: 'EmployeeNumber,FirstName,Manager number\nM-901,Ada,\nM-902,Grace,M-901' }
    await chooseFile(forms, file)
    await columnChoice(forms, 'Manager number').selectOption({ label: 'Manager: by employee number' })
    await forms.press('Check the file')
    await forms.page
      .getByText(
        /^Line 3, column “Manager number”: Manager: none has the employee number “M-901”\. .*If it is a row of this file/,
      )
      .waitFor()
    await columnChoice(forms, 'Manager number').selectOption({ label: 'left out' })
    await forms.press('Check the file')
    await forms.press('Import: create 2')
    await forms.message('team.csv was imported: 2 created')
    await chooseFile(forms, file)
    await columnChoice(forms, 'Manager number').selectOption({ label: 'Manager: by employee number' })
    await forms.press('Check the file')
    const [, change] = await rowsOf(forms.page.getByRole('region', { name: 'Changes' }))
    expect(change).toEqual(['line 3', 'M-902', 'Manager', 'nothing', 'Ada'])
    await forms.press('Import: change 1')
    await forms.message('team.csv was imported: 0 created, 1 changed.')
    const { body } = await server.get('/Employees?EmployeeNumber=M-902')
    expect(body[0].manager).toBe('Ada')
  })
})
