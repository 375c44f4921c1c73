// Handlers of the pages: landing page, errors, docs, /explore and small files. At the addresses of the landing page and of
// errors, browsers get HTML, and programs JSON.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { version } from '../../package.json'
import { firstRequest } from '../describe/guide.ts'
import { ApiError } from '../errors.ts'
import { type Entity, keyOf } from '../model/entity.ts'
import { suggest } from '../model/nearest.ts'
import { prefersHtml } from '../model/preferences.ts'
import type { SignIn } from '../model/signIn.ts'
import type { Reply } from '../respond/reply.ts'
import { StoredBody } from '../respond/storedBody.ts'
import { docsPage, SCALAR_FILE, scalarReply } from './docsPage.ts'
import { errorCodes, errorJson, errorPage, errorsJson, errorsPage, findError } from './errorPages.ts'
import { exploreFiles, explorePages } from './explorePage.ts'
import { html, jsonPage, layOut, rootOf } from './layout.ts'

interface PageRequest {
  readonly headers: Headers
  /** Path as the client wrote it. */
  readonly path: string
  /** Second segment of the path, decoded; '' if there is none. */
  readonly id: string
}

type Page = (request: PageRequest) => Promise<Reply> | Reply

const DAY = 'max-age=86400'

/**
 * Returns the handlers of the pages by path. In a path, a name in braces stands for any segment. A page is rendered on its first
 * request, and cached.
 */
export function createPages(
  entities: readonly Entity[],
  baseUrl: () => string,
  signIn: (() => Promise<SignIn>) | null,
): Record<string, Page> {
  const cache = new Map<string, StoredBody>()
  const keep = (name: string, make: () => StoredBody) => cache.getOrInsertComputed(name, make)
  /** Returns a handler that serves HTML to browsers, with links relative to the path, and JSON to programs. */
  const either =
    (name: string, page: (root: string) => StoredBody, json: () => StoredBody) =>
    ({ headers, path }: PageRequest) => {
      if (!prefersHtml(headers.get('accept'))) return keep(`${name} json`, json).reply(headers)
      const root = rootOf(path)
      return keep(`${name} ${root}`, () => page(root)).reply(headers)
    }
  const file = (body: string | Uint8Array<ArrayBuffer>, type: string): Page => {
    const stored = new StoredBody(body, { 'Content-Type': type, 'Cache-Control': DAY })
    return ({ headers }) => stored.reply(headers)
  }
  const landing = (root: string) => landingPage(entities, baseUrl(), root, signIn !== null)
  return {
    '': either('', landing, () => rootJson(entities, baseUrl())),
    errors: either('errors', errorsPage, () => errorsJson(baseUrl())),
    'errors/{code}': (request) => {
      const kind = findError(request.id)
      if (kind === null) throw new ApiError('NotFound', `There is no such error code.${suggest(request.id, errorCodes)}`)
      const page = (root: string) => errorPage(kind, baseUrl(), root)
      return either(`errors/${kind.code}`, page, () => errorJson(kind, baseUrl()))(request)
    },
    explore: explorePages(signIn),
    'explore/{file}': fileOf(exploreFiles),
    docs: ({ headers, path }) => keep(`docs ${rootOf(path)}`, () => docsPage(rootOf(path))).reply(headers),
    'docs/{file}': fileOf({ [SCALAR_FILE]: scalarReply }),
    'favicon.ico': file(new Uint8Array(readFileSync(join(import.meta.dir, 'favicon.ico'))), 'image/x-icon'),
    // Crawlers have no API key. They would find no data, and only use up the rate limit of their address.
    'robots.txt': file('User-agent: *\nDisallow: /\n', 'text/plain; charset=utf-8'),
  }
}

/** Returns a handler that serves the file whose name is the second segment of the path. */
function fileOf(files: typeof exploreFiles): Page {
  return ({ headers, id }) => {
    const file = Object.hasOwn(files, id) ? files[id] : undefined
    if (file === undefined) throw new ApiError('NotFound', 'There is no such file.')
    return file(headers)
  }
}

/** Returns the landing page for programs: name, version and addresses of the resources. */
function rootJson(entities: readonly Entity[], baseUrl: string): StoredBody {
  const resources = Object.fromEntries(entities.map(({ plural }) => [plural, `${baseUrl}/${plural}`]))
  return jsonPage<'root'>({ name: 'Roster', version, resources })
}

/** Renders the landing page: the served resources, a request to paste, and next steps. */
function landingPage(entities: readonly Entity[], baseUrl: string, root: string, signsIn: boolean): StoredBody {
  const resources = entities.map(
    ({ plural, members }) =>
      html`<li><a href="${root}docs#tag/${plural.toLowerCase()}">${plural}</a>: <code>${baseUrl}/${plural}</code><br>
<span class="quiet">${members.map(keyOf).join(', ')}</span></li>
`,
  )
  const main = html`<h1>Roster ${version}</h1>
<p>This is an HTTP API for people data. Its lists are filtered by any property, sorted and paged, with exact totals; rows are
read, created, replaced, changed and deleted. Requests and answers are JSON.</p>
<p><a href="${root}explore">Explore the data</a>: tables and sums in the browser, with a key${signsIn ? ', or as a person who signs in' : ''}.</p>
<h2>Resources</h2>
${entities.length === 0 ? html`<p>This server names its resources to requests with a key.</p>` : html`<ul>\n${resources}</ul>`}
<h2>First request</h2>
<p>A request needs a key. The operator of this server issues keys; for development, <code>npm start</code> keeps one in
<code>.data/development.key</code>.</p>
<pre class="all">${firstRequest(entities, baseUrl)}</pre>
<h2>Read on</h2>
<ul>
<li><a href="${root}docs">Docs</a>: every operation, filter and sort, with requests to try in the browser</li>
<li><a href="${root}errors">Errors</a>: what each code means, and what to do</li>
<li><a href="${root}openapi.json">OpenAPI document</a>: the same for programs, as code generators and HTTP clients import it</li>
</ul>`
  return layOut({ title: 'Roster', root, main })
}
