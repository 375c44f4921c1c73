import { describe, expect, test } from 'bun:test'
import { filtersOfIds } from '../../src/pages/explore/importLink.ts'
import { describeInBrowser, useBrowser } from '../support/browser.ts'
import { type FormPage, openForms } from '../support/formPages.ts'
import { chooseFile } from '../support/importPage.ts'
import { createRows } from '../support/rows.ts'
import { makeKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const whole = makeKey()
/** May not delete all rows that it creates. */
const sales = makeKey({
  rights: '',
  addresses: 'read Employees\ncreate Employees?fields=EmployeeNumber,Department\ndelete Employees?Department=Sales',
})

/** A CSV of people, whose numbers begin with these letters. */
const peopleOf = (letters: string, count: number) => {
  const lines = Array.from({ length: count }, (_, index) => `${letters}-${1000 + index},Person ${index}`)
  return ['EmployeeNumber,FirstName', ...lines].join('\n')
}

describeInBrowser('the undo of an import of /explore', () => {
  const server = useServer({ keys: [whole.record, sales.record] })
  const browser = useBrowser()

  /** Opens the page and imports people. */
  const imported = async (letters: string, count: number): Promise<FormPage> => {
    const forms = await openForms(browser, server, whole.text, '#/Employees?form=import')
    await chooseFile(forms, { name: `${letters}.csv`, content: peopleOf(letters, count) })
    await forms.press('Check the file')
    await forms.press(`Import: create ${count}`)
    await forms.message(`${letters}.csv was imported: ${count} created, 0 changed.`)
    return forms
  }
  /** Undoes it. Returns the requests that it took. */
  const undone = async (forms: FormPage, letters: string, count: number, result: string): Promise<readonly string[]> => {
    const requests: string[] = []
    forms.page.on('request', (request) => requests.push(`${request.method()} ${new URL(request.url()).pathname}`))
    await forms.press(`Undo ${letters}.csv`)
    await forms.press(`Delete ${count}`)
    await forms.message(result)
    return requests
  }
  const numbersOf = async (letters: string): Promise<readonly string[]> => {
    const { body } = await server.get(`/Employees?EmployeeNumber[begins]=${letters}-&sort=EmployeeNumber`)
    return body.map(({ employeeNumber }: { employeeNumber: string }) => employeeNumber)
  }

  test('an undo sends three requests per 100 rows: for their versions, for their values, and to delete them', async () => {
    const forms = await imported('MANY', 300)
    const requests = await undone(forms, 'MANY', 300, '300 deleted, 0 changed back')
    const piece = ['DELETE /Employees', 'GET /Employees', 'DELETE /Employees']
    expect(requests).toEqual([...piece, ...piece, ...piece])
    expect(await numbersOf('MANY')).toEqual([])
  })

  test('an undo leaves rows that were changed or are referred to, and deletes rows that were rewritten without a change', async () => {
    const forms = await imported('SOME', 120)
    const idOf = async (number: string) => (await server.get(`/Employees?EmployeeNumber=${number}`)).body[0].id
    const [changed, same, referred] = [await idOf('SOME-1007'), await idOf('SOME-1050'), await idOf('SOME-1099')]
    await server.patch(`/Employees/${changed}`, { JobTitle: 'Theirs' })
    await server.patch(`/Employees/${same}`, { FirstName: 'Person 50' })
    await createRows(server, '/Absences', [{ EmployeeId: referred }])
    const requests = await undone(forms, 'SOME', 120, '118 deleted, 0 changed back')
    expect(requests.length).toBeLessThan(40)
    expect(await numbersOf('SOME')).toEqual(['SOME-1007', 'SOME-1099'])
    const left = await forms.page.locator('ul.faults li').allInnerTexts()
    expect(left).toEqual([
      `Employee ${changed}: somebody has changed Job title since. It stays.`,
      `Employee ${referred} was not deleted: other rows refer to it: 1 of Absences (EmployeeId=${referred}).`,
    ])
  })

  test('an undo deletes rows that have different versions', async () => {
    const forms = await imported('EACH', 8)
    const { body } = await server.get('/Employees?EmployeeNumber[begins]=EACH-')
    for (const { id, firstName } of body) await server.patch(`/Employees/${id}`, { FirstName: firstName })
    await undone(forms, 'EACH', 8, '8 deleted, 0 changed back')
    expect(await numbersOf('EACH')).toEqual([])
  })

  test('an undo leaves rows that the reader may not delete, and says so', async () => {
    const forms = await openForms(browser, server, sales.text, '#/Employees?form=import')
    const lines = Array.from({ length: 8 }, (_, index) => `MINE-${index},${index < 6 ? 'Sales' : 'Legal'}`)
    await chooseFile(forms, { name: 'MINE.csv', content: ['EmployeeNumber,Department', ...lines].join('\n') })
    await forms.press('Check the file')
    await forms.press('Import: create 8')
    await forms.message('MINE.csv was imported: 8 created, 0 changed.')
    await undone(forms, 'MINE', 8, '6 deleted, 0 changed back')
    const left = await forms.page.locator('ul.faults li').allInnerTexts()
    const line = expect.stringMatching(/^Employee \d+: You may only delete Employees with Department=Sales\.$/)
    expect(left).toEqual([line, line])
    expect(new Set(left).size).toBe(2)
    expect(await numbersOf('MINE')).toEqual(['MINE-6', 'MINE-7'])
  })

  test('an undo leaves a row that somebody changes between its comparison and its deletion', async () => {
    const forms = await imported('RACE', 3)
    const id = (await server.get('/Employees?EmployeeNumber=RACE-1001')).body[0].id
    let deletions = 0
    await forms.page.route(/\/Employees\?Id/, async (route) => {
      // The first one only learns the version.
      if (route.request().method() === 'DELETE' && ++deletions === 2)
        await server.patch(`/Employees/${id}`, { JobTitle: 'Theirs' })
      return route.continue()
    })
    await undone(forms, 'RACE', 3, '2 deleted, 0 changed back')
    // The second deletion is refused since one row has another version, and the last one deletes the other rows.
    expect(deletions).toBe(3)
    const left = await forms.page.locator('ul.faults li').allInnerTexts()
    expect(left).toEqual([`Employee ${id}: somebody has changed Job title since. It stays.`])
    expect(await numbersOf('RACE')).toEqual(['RACE-1001'])
  })

  /** Removes versions from the answers to these requests, as a proxy may. */
  const withoutVersions = (forms: FormPage, method: string, address: RegExp) =>
    forms.page.route(address, async (route) => {
      if (route.request().method() !== method) return route.fallback()
      const response = await route.fetch()
      const { etag: _, ...headers } = response.headers()
      return route.fulfill({ response, headers })
    })

  test('an undo deletes rows one by one if a proxy removes the ETag from the answers to its deletions of several rows', async () => {
    const forms = await imported('BARE', 3)
    await withoutVersions(forms, 'DELETE', /\/Employees\?Id/)
    const requests = await undone(forms, 'BARE', 3, '3 deleted, 0 changed back')
    expect(requests.filter((request) => /^DELETE \/Employees\/\d+$/.test(request)).length).toBe(3)
    expect(await numbersOf('BARE')).toEqual([])
  })

  test('an undo leaves rows if a proxy removes the ETag from all answers about them, and says so', async () => {
    const forms = await imported('BLIND', 2)
    await withoutVersions(forms, 'DELETE', /\/Employees\?Id/)
    await withoutVersions(forms, 'GET', /\/Employees\/\d+$/)
    await undone(forms, 'BLIND', 2, '0 deleted, 0 changed back')
    const left = await forms.page.locator('ul.faults li').allInnerTexts()
    const words = 'the answer has no version of it, which a proxy may have removed. It stays.'
    expect(left).toEqual(Array(2).fill(expect.stringMatching(new RegExp(`^Employee \\d+: ${words}$`))))
    expect(await numbersOf('BLIND')).toEqual(['BLIND-1000', 'BLIND-1001'])
  })
})

describeInBrowser('the new rows of an import of /explore', () => {
  const server = useServer({ keys: [whole.record] })
  const browser = useBrowser()
  const shown = async (forms: FormPage, link: string): Promise<readonly string[]> => {
    await forms.page.getByRole('link', { name: link }).click()
    await forms.page.getByRole('heading', { name: 'Employees' }).waitFor()
    const cells = forms.page.locator('tbody tr td', { hasText: /^(SHOW|OTHER|GAPS)-/ })
    await cells.first().waitFor()
    return (await cells.allInnerTexts()).toSorted()
  }

  test('the new rows of an import are shown by a link, without other rows', async () => {
    const forms = await openForms(browser, server, whole.text, '#/Employees?form=import')
    await createRows(server, '/Employees', [{ EmployeeNumber: 'OTHER-1' }])
    await chooseFile(forms, { name: 'show.csv', content: peopleOf('SHOW', 3) })
    await forms.press('Check the file')
    await forms.press('Import: create 3')
    await forms.message('show.csv was imported: 3 created, 0 changed.')
    await createRows(server, '/Employees', [{ EmployeeNumber: 'OTHER-2' }])
    expect(await forms.violations()).toEqual([])
    expect(await shown(forms, 'Show the new rows of show.csv')).toEqual(['SHOW-1000', 'SHOW-1001', 'SHOW-1002'])
    expect(forms.complaints).toEqual([])
  })
})

describeInBrowser('an import of /explore that the server refuses', () => {
  const server = useServer({ keys: [whole.record] })
  const browser = useBrowser()

  test('a refused import names the line of the refused change once, and says what is wrong with it', async () => {
    const [absence] = await createRows(server, '/Absences', [{ Start: '2026-12-07T00:00:00Z', End: '2026-12-09T00:00:00Z' }])
    const forms = await openForms(browser, server, whole.text, '#/Absences?form=import')
    await chooseFile(forms, { name: 'ends.csv', content: `Id,End\n${absence?.id},2026-12-01` })
    await forms.press('Check the file')
    await forms.press('Import: change 1')
    await forms.page.getByText('The server does not take line 2. What was done before stays.').waitFor()
    expect(await forms.page.locator('ul.faults li').allInnerTexts()).toEqual([expect.stringMatching(/^Line 2: End .*Start/)])
  })
})

describe('the filters that find the new rows of an import are', () => {
  const many = Array.from({ length: 101 }, (_, index) => 2 * index)
  test.each([
    ['the id, for one row', [7], ['Id=7']],
    ['the first and the last id, for rows with consecutive ids', [3, 1, 2], ['Id>=1', 'Id<=3']],
    ['all ids, for rows between which others have created rows', [5, 1], ['Id[]1,5']],
    ['null, for no row', [], null],
    ['null, for more ids than an address can have', many, null],
  ])('%s', (_, ids, expected) => {
    const filters = filtersOfIds(ids)?.map(({ name, sign, values }) => name + sign + values.join())
    expect(filters ?? null).toEqual(expected)
  })
})
