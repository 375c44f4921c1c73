import { expect, test } from 'bun:test'
import { describeInBrowser, useBrowser } from '../support/browser.ts'
import { type FormPage, openForms } from '../support/formPages.ts'
import { chooseFile } from '../support/importPage.ts'
import { createRows } from '../support/rows.ts'
import { makeKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const whole = makeKey()

/** A CSV of people, whose numbers begin with these letters. */
const peopleOf = (letters: string, count: number) => {
  const lines = Array.from({ length: count }, (_, index) => `${letters}-${1000 + index},Person ${index}`)
  return ['EmployeeNumber,FirstName', ...lines].join('\n')
}

describeInBrowser('the undo of an import of /explore', () => {
  const server = useServer({ keys: [whole.record] })
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

  test('takes three requests for each 100 rows: one tells their version, one their values, and one deletes them', async () => {
    const forms = await imported('MANY', 300)
    const requests = await undone(forms, 'MANY', 300, '300 deleted, 0 changed back')
    const piece = ['DELETE /Employees', 'GET /Employees', 'DELETE /Employees']
    expect(requests).toEqual([...piece, ...piece, ...piece])
    expect(await numbersOf('MANY')).toEqual([])
  })

  test('leaves rows that others have changed or refer to, and deletes those that were only written again', async () => {
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

  test('leaves a row that somebody changes between its comparison and its deletion', async () => {
    const forms = await imported('RACE', 3)
    const id = (await server.get('/Employees?EmployeeNumber=RACE-1001')).body[0].id
    let deletions = 0
    await forms.page.route(/\/Employees\?Id/, async (route) => {
      // The first one only learns the version.
      if (route.request().method() === 'DELETE' && ++deletions === 2) await server.patch(`/Employees/${id}`, { JobTitle: 'Theirs' })
      return route.continue()
    })
    await undone(forms, 'RACE', 3, '2 deleted, 0 changed back')
    expect(await numbersOf('RACE')).toEqual(['RACE-1001'])
  })
})
