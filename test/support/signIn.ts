// A server with sign-in at /explore, a real provider, a browser and rows, for the tests of sign-in.
import { beforeAll } from 'bun:test'
import type { Page } from 'playwright-core'
import { type OpenPage, useBrowser } from './browser.ts'
import { CLIENT_ID, type Issuer, type IssuerOptions, useIssuer } from './issuer.ts'
import { quietLog } from './quietLog.ts'
import { ROLES_FILE } from './rolesFile.ts'
import { createRows } from './rows.ts'
import type { TestServer } from './server.ts'
import { useServer } from './start.ts'

export const REDIRECTS: IssuerOptions = { redirectUris: ['http://127.0.0.1/explore'] }
export const ADA = { email: 'ada@example.com', email_verified: true, name: 'Ada Byron' }
export const GRACE = { email: 'grace@example.com', email_verified: true, name: 'Grace Hopper' }

interface SignInPage {
  readonly issuer: Issuer
  readonly server: TestServer
  /** Lines of the access log. */
  readonly lines: string[]
  /** Opens /explore in a new window. */
  open(hash?: string): Promise<OpenPage>
}

/** Starts server, provider and browser for a `describeInBrowser`. Anybody may sign in; only Ada and Grace have rows. */
export function useSignIn(environment: Record<string, string> = {}): SignInPage {
  const lines: string[] = []
  const log = quietLog({
    isEnabled: () => true,
    info: (message, fields) => lines.push(`${message} ${JSON.stringify(fields)}`),
  })
  const issuer = useIssuer(REDIRECTS)
  const server = useServer(() => ({
    environment: { ...issuer.settings, OIDC_CLIENT_ID: CLIENT_ID, ...environment },
    roles: ROLES_FILE,
    log,
  }))
  const browser = useBrowser()
  beforeAll(() => createPeople(server))
  return {
    issuer,
    server,
    lines,
    async open(hash = '') {
      const opened = await browser.open(`${server.url}/explore${hash}`, { locale: 'en-GB' })
      // Shorter than the test's own limit, which would end the browser for all tests.
      opened.page.setDefaultTimeout(60_000)
      return opened
    },
  }
}

export async function createPeople(server: TestServer): Promise<void> {
  await createRows(server, '/Companies', [{ Name: 'Acme' }])
  await createRows(server, '/Employees', [
    { FirstName: 'Ada', CompanyId: 1, WorkEmail: ADA.email },
    { FirstName: 'Grace', CompanyId: 1, WorkEmail: GRACE.email },
  ])
  await createRows(server, '/Absences', [
    { EmployeeId: 1, Status: 'Approved', Type: 'Holiday', Start: '2026-01-05T09:00:00Z' },
    { EmployeeId: 2, Status: 'Approved', Type: 'Remote', Start: '2026-01-06T09:00:00Z' },
  ])
}

/** Signs a person in: presses the button of the page, and fills in the form of the provider. */
export async function signIn(page: Page, person: string = ADA.email): Promise<void> {
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await fillForm(page, person)
}

export async function fillForm(page: Page, person: string): Promise<void> {
  await page.getByLabel('Person').fill(person)
  await page.keyboard.press('Enter')
}

/** Waits until the page shows that a person is signed in. */
export const waitForName = (page: Page, name: string = ADA.name) => page.locator('header').getByText(name).waitFor()

/** Texts that the browser stores for the page, by name. */
export function stored(page: Page): Promise<Record<string, string>> {
  return page.evaluate('({ ...sessionStorage, ...localStorage })')
}

/** Tokens that the tab has. */
export async function storedTokens(page: Page): Promise<{ token: string; idToken: string; refreshToken: string | null }> {
  return JSON.parse((await stored(page))['roster.person'] ?? '{}')
}
