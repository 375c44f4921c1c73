import { beforeAll, expect, test } from 'bun:test'
import { describeInBrowser, useBrowser } from '../support/browser.ts'
import { FormPage } from '../support/formPages.ts'
import { useIssuer } from '../support/issuer.ts'
import { ROLES_FILE } from '../support/rolesFile.ts'
import { createRow, createRows } from '../support/rows.ts'
import { openSignedIn, signInSettings, TO_EXPLORE } from '../support/signInPages.ts'
import { useServer } from '../support/start.ts'

/** Ann and Bob report to Mia. Pat plans the absences of others. */
const GROUPS = { mia: ['leads'], ann: [], pat: ['planners'] }
const ROLES = `${ROLES_FILE}
role     planner   when {groups} has planners
  read   Employees
  read   Absences
  create Absences?Status=Planned&fields=EmployeeId,Type,Reason,Start
role     lead      when {groups} has leads
  read   Employees
  read   Absences
  create Absences?EmployeeId.ManagerId={me.Id}&Status=Planned&fields=EmployeeId,Reason
  update Absences?EmployeeId.ManagerId={me.Id}&fields=Reason
  delete Absences?EmployeeId.ManagerId={me.Id}
`

describeInBrowser('forms of /explore for persons', () => {
  const issuer = useIssuer(TO_EXPLORE)
  const server = useServer(() => ({ environment: signInSettings(issuer), roles: ROLES }))
  const browser = useBrowser()
  beforeAll(async () => {
    await createRows(server, '/Companies', [{ Name: 'Acme' }])
    await createRows(server, '/Employees', [
      { FirstName: 'Mia', LastName: 'Lee', WorkEmail: 'mia@acme.example' },
      { FirstName: 'Ann', LastName: 'Ray', WorkEmail: 'ann@acme.example', ManagerId: 1 },
      { FirstName: 'Bob', LastName: 'Orr', WorkEmail: 'bob@acme.example', ManagerId: 1 },
      { FirstName: 'Pat', LastName: 'Poe', WorkEmail: 'pat@acme.example' },
    ])
    for (const [name, groups] of Object.entries(GROUPS))
      await issuer.addPerson({ sub: name, email: `${name}@acme.example`, email_verified: true, groups })
  })

  async function open(person: keyof typeof GROUPS, hash: string) {
    const { page, complaints } = await openSignedIn(browser, server.url, person, hash)
    page.setDefaultTimeout(20_000)
    return new FormPage(page, complaints, server.url)
  }
  /** Waits for each of the buttons, because each comes with its own answer. Then there must be no other button. */
  const expectButtons = async (forms: FormPage, names: readonly string[]) => {
    const buttons = forms.panel.locator('.actions button')
    for (const name of names) await buttons.filter({ hasText: name }).waitFor()
    expect(await buttons.allInnerTexts()).toEqual([...names])
  }
  const lastAbsence = async () => (await server.get('/Absences?sort=-Id&PageSize=5')).body[0]

  test('an employee can request and cancel leave, her manager can approve it, and neither has the buttons of the other', async () => {
    const ann = await open('ann', '#/Absences?form=new')
    await ann.panel.locator('dd', { hasText: 'Ann Ray' }).waitFor()
    expect(await ann.panel.locator('dd').allInnerTexts()).toEqual(['Ann Ray', 'Requested'])
    await ann.field('Type').fill('Holiday')
    await ann.press('Create')
    await ann.message('was created')
    const { id, employeeId, status } = await lastAbsence()
    expect([employeeId, status]).toEqual([2, 'Requested'])
    await expectButtons(ann, ['Cancel it'])

    const mia = await open('mia', `#/Absences?row=${id}`)
    await expectButtons(mia, ['Approve', 'Decline', 'Edit', 'Delete'])
    await mia.press('Approve')
    await mia.press('Yes, approve')
    await mia.panel.locator('dd', { hasText: 'Approved' }).waitFor()
    expect((await lastAbsence()).status).toBe('Approved')

    await ann.press('Cancel it')
    await ann.press('Yes, cancel it')
    await ann.message('Somebody else was faster: Status is “Approved” now.')
    await ann.button('Cancel it').waitFor({ state: 'detached' })
    expect((await lastAbsence()).status).toBe('Approved')
    expect([ann.complaints.filter((text) => !text.includes('412')), mia.complaints]).toEqual([[], []])
  })

  test('a manager can cancel her own absence, but has no button to approve it', async () => {
    const { id } = await createRow(server, '/Absences', { EmployeeId: 1, Status: 'Requested' })
    const mia = await open('mia', `#/Absences?row=${id}`)
    await expectButtons(mia, ['Cancel it'])
  })

  test('a right that filters by a related property gives buttons only at rows that match, and its form offers only such rows', async () => {
    const [{ id: own }, { id: foreign }] = (await createRows(server, '/Absences', [
      { EmployeeId: 2, Status: 'Taken', Reason: 'Mine' },
      { EmployeeId: 4, Status: 'Requested', Reason: 'Not mine' },
    ])) as [{ id: number }, { id: number }]
    const mia = await open('mia', `#/Absences?row=${own}`)
    await expectButtons(mia, ['Edit', 'Delete'])
    await mia.press('Edit')
    expect(await mia.panel.locator('label').allInnerTexts()).toEqual(['Reason'])
    await mia.show(`#/Absences?row=${foreign}`)
    await mia.panel.getByText('Not mine').waitFor()
    await mia.page.waitForLoadState('networkidle')
    expect(await mia.panel.locator('.actions button').count()).toBe(0)
    await mia.show('#/Absences?form=new')
    await mia.panel.getByLabel('By which of your rights').selectOption({ index: 1 })
    await mia.panel.getByRole('combobox', { name: 'Employee' }).press('ArrowDown')
    const options = mia.panel.getByRole('listbox').getByRole('option')
    await options.first().waitFor()
    expect(await options.allInnerTexts()).toEqual(['Ann Ray id 2', 'Bob Orr id 3'])
    await options.last().click()
    await mia.press('Create')
    await mia.message('was created')
    expect((await lastAbsence()).employeeId).toBe(3)
  })

  test('a person with two rights to create chooses one of them, and the new row has the values that this right sets', async () => {
    const pat = await open('pat', '#/Absences?form=new')
    const choice = pat.panel.getByLabel('By which of your rights')
    await choice.locator('option', { hasText: 'Pat Poe' }).waitFor({ state: 'attached' })
    expect(await choice.locator('option').allInnerTexts()).toEqual(['Employee: Pat Poe, Status: Requested', 'Status: Planned'])
    expect(await pat.panel.getByRole('combobox', { name: 'Employee' }).count()).toBe(0)
    await choice.selectOption({ index: 1 })
    await pat.field('Employee').fill('bob')
    await pat.panel.getByRole('option', { name: 'Bob Orr' }).click()
    await pat.press('Create')
    await pat.message('was created')
    const { employeeId, status } = await lastAbsence()
    expect([employeeId, status]).toEqual([3, 'Planned'])
    // Without an employee, the other right would decide: it may set all that has a value.
    await pat.press('New absence')
    await choice.selectOption({ index: 1 })
    await pat.field('Type').fill('Training')
    await pat.press('Create')
    await pat.panel.locator('dd', { hasText: 'Training' }).waitFor()
    const created = await lastAbsence()
    expect([created.employeeId, created.status]).toEqual([null, 'Planned'])
  })

  test('a draft is kept when the sign-in ends, and can be saved after the next sign-in', async () => {
    const forms = await open('ann', '#/Absences?form=new')
    await forms.field('Reason').fill('Kept over the end')
    await forms.page.route('**/Absences*', (route) =>
      route.continue({ headers: { ...route.request().headers(), authorization: 'Bearer of.nothing.good' } }),
    )
    await forms.press('Create')
    await forms.page.getByText('Your sign-in has ended. What you see may have changed since.').waitFor()
    expect(await forms.field('Reason').inputValue()).toBe('Kept over the end')
    await forms.page.unrouteAll({ behavior: 'wait' })
    // The issuer still knows her, and asks nothing.
    await forms.press('Sign in again')
    await forms.page.getByText('Your sign-in has ended.').waitFor({ state: 'detached' })
    await forms.button('Create').waitFor()
    expect(await forms.field('Reason').inputValue()).toBe('Kept over the end')
    await forms.press('Create')
    await forms.message('was created')
    expect((await lastAbsence()).reason).toBe('Kept over the end')
  })
})
