// The page /docs, on which Scalar, a vendored script, shows our OpenAPI document. All requests go to our server.
import type { StoredBody } from '../respond/storedBody.ts'
import { hashSource, html, htmlDocument, Markup } from './layout.ts'
import { packedScript } from './packedScript.ts'
import vendored from './vendor/scalar.json'

/** File name of Scalar's script. It contains the version, because browsers cache the file for a year. */
export const SCALAR_FILE = `scalar-${vendored.version}.js`

export const scalarReply = packedScript(`${SCALAR_FILE}.gz`)

/**
 * Inline script that replaces `localStorage` and `sessionStorage` by stores in memory if the browser blocks them, or if they are
 * full. It runs before Scalar's script, which uses both when it loads.
 */
const storageScript = `
for (const name of ['localStorage', 'sessionStorage']) {
  try {
    window[name].setItem('roster.room', '')
    window[name].removeItem('roster.room')
  } catch {
    const texts = new Map()
    const storage = {
      get length() { return texts.size },
      key: (index) => [...texts.keys()][index] ?? null,
      getItem: (name) => texts.get(String(name)) ?? null,
      setItem: (name, text) => { texts.set(String(name), String(text)) },
      removeItem: (name) => { texts.delete(String(name)) },
      clear: () => texts.clear(),
    }
    Object.defineProperty(window, name, { value: storage, configurable: true })
  }
}
`

/**
 * Inline script that starts Scalar. Scalar sends its requests to the server of the page. An API key that the reader types without
 * a scheme is sent as `ApiKey <key>`.
 */
const script = `
const root = new URL(document.querySelector('#docs').dataset.root, location.href).href
// OpenAPI does not allow a parameter Accept. On this page, the parameter X-Form takes the place of Accept.
const FORM = 'X-Form'
const formOf = (forms) => ({
  name: FORM, in: 'header', schema: { type: 'string', enum: ['', ...forms] },
  description: 'On this page: the form of the answer, which other programs ask for by the header Accept. Without one, it is JSON.',
})
const start = (content, key) => Scalar.createApiReference('#docs', {
  content,
  servers: [{ url: root.replace(/\\/$/, '') }],
  authentication: {
    preferredSecurityScheme: 'ApiKey',
    securitySchemes: { ApiKey: { name: 'Authorization', in: 'header', value: 'ApiKey ' + key } },
  },
  onRequestBuilt({ request }) {
    const key = (request.headers.get('authorization') ?? '').trim()
    if (key !== '' && !/^(apikey|bearer)( |$)/i.test(key)) request.headers.set('authorization', 'ApiKey ' + key)
    request.headers.set('accept', request.headers.get(FORM) || 'application/json')
    request.headers.delete(FORM)
  },
  favicon: root + 'favicon.ico',
  withDefaultFonts: false,
  telemetry: false,
  proxyUrl: '',
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
  documentDownloadType: 'none',
  persistAuth: false,
})
// Scalar would fill each field with an example. It would then send all examples, or leave out even a text that was typed over an
// example. So all fields start empty, and only typed values are sent.
const emptied = (parameter) => {
  if (parameter.$ref || parameter.in === 'path') return
  const { example, examples = example === undefined ? {} : { example: { value: example } }, schema } = parameter
  for (const one of Object.values(examples)) Object.assign(one, { 'x-disabled': true, value: [one.value].flat().join() })
  parameter.examples = { default: { value: '' }, ...examples }
  delete parameter.example
  // Without this, Scalar would split a filter at a comma.
  if (parameter.explode) parameter.schema = schema.items
  // Without this, an empty field would be marked as too small.
  delete schema?.minimum
}
const frame = document.querySelector('#docs')
// With DOCUMENT_NEEDS_KEY, the server gives its OpenAPI document only to requests with a key. So the page asks for the key.
const ask = (message) => {
  frame.innerHTML = '<form><h1>Docs</h1><p role="alert"></p><label>Key <input type="password" autocomplete="off" autofocus></label> <button>Continue</button></form>'
  frame.querySelector('p').textContent = message
  frame.firstChild.onsubmit = (event) => {
    event.preventDefault()
    load(frame.querySelector('input').value.trim().replace(/^apikey\\s+/i, ''))
  }
}
const load = (key) => fetch(root + 'openapi.json', key === '' ? {} : { headers: { Authorization: 'ApiKey ' + key } })
  .then(async (answer) => {
    if (answer.status === 401) return ask(key === '' ? 'This server shows its docs only with a key.' : 'This key is not known here, or was revoked.')
    show(answer.ok ? await answer.json() : await Promise.reject(await answer.text()), key)
  })
  .catch((error) => { frame.textContent = 'The docs could not be loaded: ' + error })
const show = (content, key) => {
  frame.textContent = ''
  const operations = Object.values(content.paths).flatMap((path) => [path, ...Object.values(path)])
  for (const operation of operations) {
    const forms = Object.keys(operation.responses?.[200]?.content ?? {})
    if (forms.includes('text/csv')) operation.parameters = [...(operation.parameters ?? []), formOf([...forms, 'application/x-ndjson'])]
  }
  const lists = [...operations.map(({ parameters }) => parameters ?? []), Object.values(content.components.parameters ?? {})]
  lists.flat().forEach(emptied)
  start(content, key)
}
load('')
`

const POLICY = [
  `script-src 'self' ${hashSource(storageScript)} ${hashSource(script)}`,
  // Scalar creates style elements and attributes.
  "style-src 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
]

/** Renders the page on which people read about the API and try requests. */
export function docsPage(root: string): StoredBody {
  const body = html`<div id="docs" data-root="${root}"></div>
<noscript><p>These docs need JavaScript. The same is in the <a href="${root}openapi.json">OpenAPI document</a>.</p></noscript>
<script>${new Markup(storageScript)}</script>
<script src="${root}docs/${SCALAR_FILE}"></script>
<script>${new Markup(script)}</script>`
  const head = html`<meta name="color-scheme" content="light dark">`
  return htmlDocument({ title: 'Docs of Roster', root, head, body, policy: POLICY })
}
