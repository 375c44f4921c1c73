// Pages about errors, as HTML and JSON: the list of all codes, a page with an example for each code, and the answer to a browser
// whose request fails.
import { STATUS_CODES } from 'node:http'
import { type ApiError, type ErrorCode, errorTable } from '../errors.ts'
import type { ErrorEntry } from '../errorTable/entry.ts'
import { prefersHtml } from '../model/preferences.ts'
import { bodyOfError } from '../respond/error.ts'
import { NO_STORE, type Reply } from '../respond/reply.ts'
import type { StoredBody } from '../respond/storedBody.ts'
import { html, jsonPage, layOut, type Markup, rootOf } from './layout.ts'

interface ErrorKind extends ErrorEntry {
  readonly code: ErrorCode
}

const kinds: readonly ErrorKind[] = Object.entries(errorTable).map(([code, entry]) => ({
  code: code as ErrorCode,
  ...entry,
}))
const byCode = new Map(kinds.map((kind) => [kind.code.toLowerCase(), kind]))

/** All error codes. The error for an unknown code suggests the most similar of these codes. */
export const errorCodes: readonly string[] = kinds.map(({ code }) => code)

/** Returns the error with this code, compared without case; null if there is none. */
export function findError(code: string): ErrorKind | null {
  return byCode.get(code.toLowerCase()) ?? null
}

/** Renders the page of all codes, grouped by HTTP status. */
export function errorsPage(root: string): StoredBody {
  const byStatus = [...Map.groupBy(kinds, ({ status }) => status)].sort(([one], [other]) => one - other)
  const main = html`<h1>Errors</h1>
<p>Every error has the same body. <code>Code</code> is one of these and does not change; <code>Message</code> is for people;
<code>Target</code> names the property or parameter at fault; <code>Reference</code> is the address of the code’s page;
<code>Details</code> lists the faults of a body, or is null.</p>
${byStatus.map(
  ([status, kinds]) => html`<h2>${statusText(status)}</h2>
<ul>
${kinds.map(({ code, title }) => html`<li><a href="${root}errors/${code}">${code}</a>: ${title}</li>\n`)}</ul>
`,
)}`
  return layOut({ title: 'Errors – Roster', root, main })
}

/** Renders the page of one code: meaning, cause, remedy and example. */
export function errorPage(kind: ErrorKind, baseUrl: string, root: string): StoredBody {
  const { code, status, title, explanation, remedy } = kind
  const main = html`<h1>${code}</h1>
<p>${title}. <span class="quiet">HTTP status ${statusText(status)}</span></p>
<h2>Why it comes</h2>
<p>${explanation}</p>
<h2>What to do</h2>
<p>${remedy}</p>
<h2>Example</h2>
${example(kind, baseUrl)}`
  return layOut({ title: `${code} – Roster`, root, main })
}

function example(kind: ErrorKind, baseUrl: string): Markup {
  const { code, status, body, when, answer } = kind
  const head = Object.entries(requestHeaders(kind)).map(([name, value]) => `${name}: ${value}`)
  const request = [`${kind.request} HTTP/1.1`, ...head, ...(body === undefined ? [] : ['', body])]
  return html`<p>${when === undefined ? 'This request' : `When ${when}, this request`}</p>
<pre>${request.join('\n')}</pre>
<p>is answered</p>
<pre>HTTP/1.1 ${statusText(status)}

${JSON.stringify(bodyOfError(code, answer, baseUrl), null, 2)}</pre>`
}

function requestHeaders({ headers, body, rights }: ErrorKind): Record<string, string> {
  return {
    ...(rights === null ? {} : { Authorization: 'ApiKey <key>' }),
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    ...headers,
  }
}

function statusText(status: number): string {
  return `${status} ${STATUS_CODES[status] ?? ''}`
}

/**
 * Errors for paths of this length or longer are answered with JSON. Such a path may have been cut to this length, because its
 * target could not be read. A page has links relative to the path, which would then be wrong.
 */
const PATH_LENGTH_MAX = 200

/** Renders an error as a page with links, for requests of browsers. Returns null if the response must be JSON. */
export function faultPage({ method, headers: asked }: Request, path: string, error: ApiError): Reply | null {
  const { code, message, details, headers } = error
  const { status, title, remedy } = findError(code) as ErrorKind
  // Rendering a page costs many times what JSON costs, so requests over a rate limit get JSON.
  const isPage = status !== 429 && (method === 'GET' || method === 'HEAD') && path.length < PATH_LENGTH_MAX
  if (!isPage || !prefersHtml(asked.get('accept'))) return null
  const root = rootOf(path)
  const faults = details?.map(({ target, message }) => html`<li>${target}: ${message}</li>\n`) ?? []
  const main = html`<h1>${title}</h1>
<p>${message}</p>
<ul>
${faults}</ul>
<h2>What to do</h2>
<p>${remedy}</p>
<ul>
<li><a href="${root}docs">Docs</a>: send requests from the browser, with a key</li>
<li><a href="${root}errors/${code}">${code}</a>: what this error means. <span class="quiet">HTTP status ${statusText(status)}</span></li>
</ul>`
  const page = layOut({ title: `${title} – Roster`, root, main }).reply(new Headers())
  const { ETag: _, ...own } = page.headers
  return { status, headers: { ...own, 'Cache-Control': NO_STORE, ...headers }, body: page.body }
}

/** Returns the JSON of /errors: a list of all errors. */
export function errorsJson(baseUrl: string): StoredBody {
  return jsonPage<'errors'>({ errors: kinds.map((kind) => textsOf(kind, baseUrl)) })
}

/** Returns the JSON of /errors/{code}: the error with an example. */
export function errorJson(kind: ErrorKind, baseUrl: string): StoredBody {
  const { code, body = null, when = null, answer } = kind
  const [method = '', target = ''] = kind.request.split(' ')
  const request = { method, target, headers: requestHeaders(kind), body }
  return jsonPage<'error'>({ ...textsOf(kind, baseUrl), example: { when, request, answer: bodyOfError(code, answer, baseUrl) } })
}

function textsOf({ code, status, title, explanation, remedy }: ErrorKind, baseUrl: string) {
  return { code, status, title, explanation, remedy, reference: `${baseUrl}/errors/${code}` }
}
