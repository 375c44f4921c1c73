// The example of `npm run example` as a process, and people who sign in there over HTTP.
import { createHash, randomBytes } from 'node:crypto'
import type { Page } from 'playwright-core'
import { freePort, postmasterOf, type RunningProgram, run } from './process.ts'

/** Command that `npm run example` runs. */
export const EXAMPLE = ['node', 'src/launch.mjs', 'test/example/run.ts']
const READY = /Stop +Ctrl\+C/
const CLIENT_ID = 'roster-explore'

export interface Example {
  readonly program: RunningProgram
  /** Address of the server. */
  readonly url: string
  /** Address of the provider. */
  readonly provider: string
  readonly folder: string
}

/** Starts the example, and waits until it is ready. */
export async function startExample(
  folder: string,
  words: readonly string[] = [],
  more: Record<string, string> = {},
): Promise<Example> {
  const [port, providerPort] = [freePort(), freePort()]
  const settings = { PORT: String(port), PROVIDER_PORT: String(providerPort), EXAMPLE_DIR: folder, ...more }
  const program = run([...EXAMPLE, ...words], settings)
  await program.waitFor(READY)
  return { program, url: `http://127.0.0.1:${port}`, provider: `http://127.0.0.1:${providerPort}`, folder }
}

/** Returns the process ids of the example, its server and PostgreSQL: from its output, and from its data folder. */
export function processesOf({ program, folder }: Example): number[] {
  const server = Number(/kill -USR2 (\d+)/.exec(program.output())?.[1])
  return [program.pid, server, postmasterOf(folder) ?? 0]
}

export interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
  readonly id_token: string
  readonly expires_in: number
}

/** A person's browser without scripts: it keeps cookies, and follows redirects until one leads to `/explore`. */
export class Visitor {
  private readonly cookies = new Map<string, string>()

  constructor(private readonly example: Example) {}

  get redirectUri(): string {
    return `${this.example.url}/explore`
  }

  /** Picks a person on the page of the provider, and exchanges the code as the page /explore does. */
  async signIn(account: string): Promise<Tokens> {
    const verifier = randomBytes(32).toString('base64url')
    const page = await this.open(`${this.example.provider}/auth?${this.authorization(verifier)}`)
    const answered = await this.open(page.address, new URLSearchParams({ account }))
    const code = new URL(answered.address).searchParams.get('code') ?? ''
    return await this.tokens({ grant_type: 'authorization_code', code, redirect_uri: this.redirectUri, code_verifier: verifier })
  }

  async tokens(body: Record<string, string>): Promise<Tokens> {
    const response = await this.exchange(body)
    if (!response.ok) throw new Error(`the provider answers ${response.status}: ${await response.text()}`)
    return (await response.json()) as Tokens
  }

  exchange(body: Record<string, string>): Promise<Response> {
    const form = new URLSearchParams({ client_id: CLIENT_ID, ...body })
    return fetch(`${this.example.provider}/token`, { method: 'POST', body: form })
  }

  authorization(verifier: string): URLSearchParams {
    return new URLSearchParams({
      response_type: 'code',
      client_id: CLIENT_ID,
      redirect_uri: this.redirectUri,
      scope: 'openid email',
      state: 'state',
      nonce: 'nonce',
      resource: 'https://roster.example.com',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    })
  }

  /** Returns the page at which the redirects end. */
  async open(first: string, form?: URLSearchParams): Promise<{ address: string; text: string }> {
    let address = first
    let body = form
    for (;;) {
      const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const method = body === undefined ? 'GET' : 'POST'
      const response = await fetch(address, { method, redirect: 'manual', headers: { cookie }, ...(body && { body }) })
      for (const set of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? []
        this.cookies.set(name, value)
      }
      const location = response.headers.get('location')
      const text = await response.text()
      if (location === null) return { address, text }
      address = new URL(location, address).href
      body = undefined
      if (address.startsWith(this.redirectUri)) return { address, text: '' }
    }
  }
}

/** Sends a request as a person, and returns status and JSON. */
export async function askAs(tokens: Tokens, example: Example, method: string, path: string, body?: object) {
  const response = await fetch(example.url + path, {
    method,
    headers: { authorization: `Bearer ${tokens.access_token}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  const total = Number(response.headers.get('x-total-count'))
  return { status: response.status, total, body: text === '' ? null : JSON.parse(text) }
}

/** Signs a person in on `/explore`, which shows the form to sign in. */
export async function signInAt(page: Page, account: string): Promise<void> {
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.locator(`button[value="${account}"]`).click()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
}
