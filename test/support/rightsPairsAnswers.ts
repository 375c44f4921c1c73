// Answers of two servers to a key. Parts that may differ are removed: times, versions of rows, tokens of the change feed.
import { KEY, type TestServer } from './server.ts'

/**
 * A request. `{tag:/Employees/3}`, `{next}`, `{first}` and `{cursor}` in it are replaced by values from earlier answers of the
 * same server.
 */
export interface PairRequest {
  /** Name of the kind of request, through which hidden data could leak. Answers are counted by it. */
  readonly channel: string
  readonly method: string
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

export interface PairAnswer {
  readonly status: number
  /** Status, headers and body in the form in which they are compared. */
  readonly text: string
  readonly body: string
  /** Body as the server sent it. */
  readonly sent: string
  readonly headers: Headers
  /** Number of requests left, from X-RateLimit-Remaining, which does not depend on a clock. */
  readonly remaining: string | null
}

/** Address in links of both servers. */
const PUBLIC_URL = 'http://roster.test'
/**
 * Settings of the servers. Their limits are higher than any run. There is one period, longer than a run, so that `remaining`
 * counts each request.
 */
export const SETTINGS = { PUBLIC_URL, RATE_LIMITS: '1000000/6d', RATE_LIMIT_CLIENTS: '4', LOG_LEVEL: 'error' }

/** Headers that depend on the time. */
const OF_TIME = new Set(['date', 'ratelimit', 'x-ratelimit-reset', 'x-ratelimit-remaining'])
const WEAK = 'W/'
const TOKENS = /"(token|next)":"[\w-]+"/g
const TIMES = /"at":"[^"]+"/g
const TAGS = /\\"[0-9a-z]+-[0-9a-z]+\\"/g
const ATTEMPTS_MAX = 20

/** Thrown if a connection broke during a write, so that it is unknown whether the write was done. The trial of the key ends. */
export class Interrupted extends Error {}

/** One of the two servers. It stores ETags and tokens of answers, which later requests can contain. */
export class Side {
  private readonly tags = new Map<string, string>()
  private readonly tokens = { next: 'now', first: 'now' }
  /** True if a request was repeated, so that counts of requests differ. */
  hasRepeated = false

  /** `errorsText`: examples of errors in the OpenAPI document, which everyone may read. */
  constructor(
    readonly server: TestServer,
    readonly errorsText: string,
  ) {}

  /** Forgets the ETags and tokens of earlier rows. */
  reset(): void {
    this.tags.clear()
    this.tokens.next = 'now'
    this.tokens.first = 'now'
    this.hasRepeated = false
  }

  /** Sends a request, and again while the server is too busy for it. */
  async ask(request: PairRequest, authorization: string): Promise<PairAnswer> {
    for (let attempt = 1; ; attempt++) {
      const answer = await this.askOnce(request, authorization).catch((error: Error) => {
        // A server may close a kept connection just when it is used again. After a write, it is then unknown whether the write
        // was done.
        if (!/^(GET|HEAD|OPTIONS)$/.test(request.method) || attempt === ATTEMPTS_MAX) throw new Interrupted(error.message)
        return null
      })
      if (answer !== null && (answer.status !== 503 || attempt === ATTEMPTS_MAX)) return answer
      this.hasRepeated = true
      await Bun.sleep(20 * attempt)
    }
  }

  /** Returns the rows of a target as NDJSON, read with a key that has all rights. */
  async readWhole(target: string): Promise<string> {
    const headers = { authorization: `ApiKey ${KEY}`, accept: 'application/x-ndjson' }
    const read = () => fetch(this.server.url + target, { headers })
    let answer = await read()
    for (let attempt = 1; answer.status === 503 && attempt < ATTEMPTS_MAX; attempt++) {
      await Bun.sleep(20 * attempt)
      answer = await read()
    }
    if (answer.status !== 200) throw new Error(`GET ${target} is ${answer.status} to a whole key: ${await answer.text()}`)
    return answer.text()
  }

  private async askOnce(request: PairRequest, authorization: string): Promise<PairAnswer> {
    const { method, target, body } = request
    const headers: Record<string, string> = { 'accept-encoding': 'identity', 'x-request-id': 'pair', authorization }
    for (const [name, value] of Object.entries(request.headers)) headers[name] = this.resolved(value)
    if (body !== null && !('content-type' in headers)) headers['content-type'] = 'application/json'
    const resolved = this.resolved(target).replace(
      '{cursor}',
      target.includes('{cursor}') ? await this.foreignCursor(target) : '',
    )
    const answer = await fetch(this.server.url + resolved, { method, headers, body, redirect: 'manual' })
    return normal(answer, await answer.text())
  }

  private resolved(text: string): string {
    if (!text.includes('{')) return text
    return text
      .replace(/\{tag:([^}]+)\}/g, (_, path: string) => this.tags.get(path) ?? '"0-0"')
      .replace('{next}', this.tokens.next)
      .replace('{first}', this.tokens.first)
  }

  /** Returns the cursor that a key with all rights gets in the answer to the same list. */
  private async foreignCursor(target: string): Promise<string> {
    const path = target.replace(/[?&]cursor=\{cursor\}/, '')
    const answer = await fetch(this.server.url + path, { headers: { authorization: `ApiKey ${KEY}` } })
    await answer.text()
    return /[?&]cursor=([\w-]+)/.exec(answer.headers.get('link') ?? '')?.[1] ?? 'x'
  }

  /** Forgets the ETags, because a write of hidden values may have changed versions of rows in only one database. */
  forgetTags(): void {
    this.tags.clear()
  }

  /** Stores the ETag and tokens of an answer for later requests. */
  note({ method, target }: PairRequest, { status, headers, sent: text }: PairAnswer): void {
    // A write may also change versions of rows that copy values from the written row, by a reference that the key does not see.
    if (method !== 'GET' && method !== 'HEAD' && status < 300) this.tags.clear()
    if (headers.has('idempotency-replayed')) return
    const tag = headers.get('etag')
    if (tag !== null && !tag.startsWith(WEAK)) {
      const path = method === 'POST' ? new URL(headers.get('location') ?? PUBLIC_URL).pathname : target.replace(/\?.*/, '')
      this.tags.set(path, tag)
    }
    if (!/\/Changes/i.test(target)) return
    this.tokens.next = /"next":"([\w-]+)"/.exec(text)?.[1] ?? this.tokens.next
    this.tokens.first = /"token":"([\w-]+)"/.exec(text)?.[1] ?? this.tokens.first
  }
}

/** Returns a body in which tokens, times of changes, and versions are replaced. */
export function normalBody(text: string): string {
  return text.replace(TOKENS, '"$1":"<token>"').replace(TIMES, '"at":"<time>"').replace(TAGS, '<tag>')
}

function normal({ status, headers }: Response, text: string): PairAnswer {
  const body = normalBody(text)
  const lines: string[] = []
  for (const [name, value] of headers) {
    if (OF_TIME.has(name)) continue
    // Tokens and tags of the two servers may differ in length.
    if (name === 'content-length' && body !== text) continue
    if (name === 'x-changes-after') lines.push(`${name}: <token>`)
    else if (name === 'etag')
      lines.push(`${name}: ${value.startsWith(WEAK) ? value.replace(SHOWN, 'W/"<version>-$1"') : '<tag>'}`)
    else lines.push(`${name}: ${value}`)
  }
  const remaining = headers.get('x-ratelimit-remaining')
  return { status, headers, body, sent: text, remaining, text: [`${status}`, ...lines.sort(), '', body].join('\n') }
}

/** Matches the ETag of a row with related values: its version, and a hash of what it shows. */
const SHOWN = /^W\/"[0-9a-z]+-\d+-([0-9a-z]+)"$/

/** Returns the target of the page to which the link with this relation leads. */
export function linkedTarget({ headers }: PairAnswer, relation: 'next' | 'prev'): string | null {
  const link = new RegExp(`<([^>]*)>; rel="${relation}"`).exec(headers.get('link') ?? '')?.[1]
  return link === undefined ? null : link.slice(PUBLIC_URL.length)
}

/** Returns a request as one line. */
export function showRequest({ method, target, headers, body }: PairRequest): string {
  const more = Object.entries(headers).map(([name, value]) => ` -H '${name}: ${value}'`)
  return `${method} ${target}${more.join('')}${body === null ? '' : ` -d '${body}'`}`
}

/** True for a dry run without an Idempotency-Key, after which the write itself can be sent. */
export function isDryRun({ target, headers }: PairRequest): boolean {
  return DRY_RUN.test(target) && !('idempotency-key' in headers)
}

/** Returns the target of the write itself. */
export function withoutDryRun(target: string): string {
  return target.replace(DRY_RUN, '')
}

const DRY_RUN = /[?&]dryRun=1$/

/** True if a part of the request is replaced by a value from an earlier answer. */
export function hasSymbols({ target, headers }: PairRequest): boolean {
  return target.includes('{') || Object.values(headers).some((value) => value.includes('{'))
}
