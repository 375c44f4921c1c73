// Answers to a key by two servers, without what may differ: times, versions of rows, tokens of the change feed.
import { KEY, type TestServer } from './server.ts'

/** A request; `{tag:/Employees/3}`, `{next}`, `{first}` and `{cursor}` in it stand for what the server itself has answered before. */
export interface PairRequest {
  /** Name of the kind of request through which hidden data could leak; answers are counted by it. */
  readonly channel: string
  readonly method: string
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

export interface PairAnswer {
  readonly status: number
  /** Headers and body as they are compared. */
  readonly text: string
  readonly body: string
  /** The body as it was sent. */
  readonly sent: string
  readonly headers: Headers
  /** Number of requests left, from the only limit header that does not depend on a clock. */
  readonly remaining: string | null
}

/** Address in links of both servers. */
const PUBLIC_URL = 'http://roster.test'
/** Settings of the servers, with limits that no run reaches, in one period so that each request counts. */
export const SETTINGS = { PUBLIC_URL, RATE_LIMITS: '1000000/6d', RATE_LIMIT_CLIENTS: '4', LOG_LEVEL: 'error' }

/** Headers that depend on the time. */
const OF_TIME = new Set(['date', 'ratelimit', 'x-ratelimit-reset', 'x-ratelimit-remaining'])
const WEAK = 'W/'
const TOKENS = /"(token|next)":"[\w-]+"/g
const TIMES = /"at":"[^"]+"/g
const TAGS = /\\"[0-9a-z]+-[0-9a-z]+\\"/g
const ATTEMPTS_MAX = 20

/** A connection broke off a write, so that nobody knows whether it was done: the key is tried no further. */
export class Interrupted extends Error {}

/** One of the two servers, with tags, links and cursors of its answers, which later requests can name. */
export class Side {
  private readonly tags = new Map<string, string>()
  private readonly tokens = { next: 'now', first: 'now' }
  /** True if a request was repeated, so that counts of requests differ. */
  hasRepeated = false

  /** `errorsText`: the examples of errors, which everyone may read. */
  constructor(
    readonly server: TestServer,
    readonly errorsText: string,
  ) {}

  /** Forgets the tags, links and cursors of earlier rows. */
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
        // A kept connection may be closed in the moment in which it is used again. Whether a write was done is not known then.
        if (!/^(GET|HEAD|OPTIONS)$/.test(request.method) || attempt === ATTEMPTS_MAX) throw new Interrupted(error.message)
        return null
      })
      if (answer !== null && (answer.status !== 503 || attempt === ATTEMPTS_MAX)) return answer
      this.hasRepeated = true
      await Bun.sleep(20 * attempt)
    }
  }

  /** Returns rows as a whole key reads them at this address, as NDJSON. */
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

  /** Returns the cursor that a whole key gets with the same list. */
  private async foreignCursor(target: string): Promise<string> {
    const path = target.replace(/[?&]cursor=\{cursor\}/, '')
    const answer = await fetch(this.server.url + path, { headers: { authorization: `ApiKey ${KEY}` } })
    await answer.text()
    return /[?&]cursor=([\w-]+)/.exec(answer.headers.get('link') ?? '')?.[1] ?? 'x'
  }

  /** Forgets versions of rows: a hidden value may have changed them in one database alone. */
  forgetTags(): void {
    this.tags.clear()
  }

  /** Keeps the tags and tokens of an answer, for later requests. */
  note({ method, target }: PairRequest, { status, headers, sent: text }: PairAnswer): void {
    // A write may change the versions of rows that copy from it, by a reference that the key does not see.
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

/** Returns a body without tokens, times of changes, and versions. */
export function normalBody(text: string): string {
  return text.replace(TOKENS, '"$1":"<token>"').replace(TIMES, '"at":"<time>"').replace(TAGS, '<tag>')
}

function normal({ status, headers }: Response, text: string): PairAnswer {
  const body = normalBody(text)
  const lines: string[] = []
  for (const [name, value] of headers) {
    if (OF_TIME.has(name)) continue
    // A token or a tag may be longer than the other server's.
    if (name === 'content-length' && body !== text) continue
    if (name === 'x-changes-after') lines.push(`${name}: <token>`)
    else if (name === 'etag')
      lines.push(`${name}: ${value.startsWith(WEAK) ? value.replace(SHOWN, 'W/"<version>-$1"') : '<tag>'}`)
    else lines.push(`${name}: ${value}`)
  }
  const remaining = headers.get('x-ratelimit-remaining')
  return { status, headers, body, sent: text, remaining, text: [`${status}`, ...lines.sort(), '', body].join('\n') }
}

/** Tag of a row with values of others: its version, and what it shows. */
const SHOWN = /^W\/"[0-9a-z]+-\d+-([0-9a-z]+)"$/

/** Returns the target of the page that a link of this relation leads to. */
export function linkedTarget({ headers }: PairAnswer, relation: 'next' | 'prev'): string | null {
  const link = new RegExp(`<([^>]*)>; rel="${relation}"`).exec(headers.get('link') ?? '')?.[1]
  return link === undefined ? null : link.slice(PUBLIC_URL.length)
}

/** Shows a request as one line. */
export function showRequest({ method, target, headers, body }: PairRequest): string {
  const more = Object.entries(headers).map(([name, value]) => ` -H '${name}: ${value}'`)
  return `${method} ${target}${more.join('')}${body === null ? '' : ` -d '${body}'`}`
}

/** True for a dry run that is not done once, so that the write itself can follow. */
export function isDryRun({ target, headers }: PairRequest): boolean {
  return DRY_RUN.test(target) && !('idempotency-key' in headers)
}

/** Returns the target of the write itself. */
export function withoutDryRun(target: string): string {
  return target.replace(DRY_RUN, '')
}

const DRY_RUN = /[?&]dryRun=1$/

/** True if the request names something that the server has answered before. */
export function hasSymbols({ target, headers }: PairRequest): boolean {
  return target.includes('{') || Object.values(headers).some((value) => value.includes('{'))
}
