import { beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { describeInBrowser, useBrowser } from '../support/browser.ts'
import { CLIENT_ID, useIssuer } from '../support/issuer.ts'
import { ROLES_FILE } from '../support/rolesFile.ts'
import { createRows } from '../support/rows.ts'
import { useServer } from '../support/start.ts'

const ADA = { email: 'ada@example.com', email_verified: true, name: 'Ada Byron' }
const SHARED = '#/Absences?Status=Approved&sort=-Start'

describeInBrowser('/explore with sign-in', () => {
  const issuer = useIssuer({ redirectUris: ['http://127.0.0.1/explore'] })
  const server = useServer(() => ({ environment: { ...issuer.settings, OIDC_CLIENT_ID: CLIENT_ID }, roles: ROLES_FILE }))
  const browser = useBrowser()
  beforeAll(async () => {
    await createRows(server, '/Companies', [{ Name: 'Acme' }])
    await createRows(server, '/Employees', [{ FirstName: 'Ada', CompanyId: 1, WorkEmail: ADA.email }])
    await createRows(server, '/Absences', [{ EmployeeId: 1, Status: 'Approved', Type: 'Holiday', Start: '2026-01-05T09:00:00Z' }])
    await issuer.addPerson(ADA)
  })

  async function open(hash = '') {
    const opened = await browser.open(`${server.url}/explore${hash}`, { locale: 'en-GB' })
    opened.page.setDefaultTimeout(20_000)
    return opened
  }
  async function signIn(page: Page, person = ADA.email) {
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByLabel('Person').fill(person)
    await page.keyboard.press('Enter')
  }

  test('A person signs in at the issuer, and the shared link that she opened is shown', async () => {
    const { page, complaints } = await open(SHARED)
    await signIn(page)
    await page.getByRole('heading', { name: 'Absences' }).waitFor()
    await page.getByText('Ada Byron').first().waitFor()
    expect([page.url(), complaints]).toEqual([`${server.url}/explore${SHARED}`, []])
  })
})
