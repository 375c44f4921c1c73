// The page /explore, its scripts and its style sheet. The names of the files contain hashes of their content.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SignIn } from '../model/signIn.ts'
import type { Reply } from '../respond/reply.ts'
import { StoredBody } from '../respond/storedBody.ts'
import { html, htmlDocument, rootOf } from './layout.ts'
import { IMMUTABLE, packedScript } from './packedScript.ts'
import script from './vendor/explore.json'
import reader from './vendor/exploreReader.json'

const css = readFileSync(join(import.meta.dir, 'explore/explore.css'), 'utf8')
const styles = new StoredBody(css, { 'Content-Type': 'text/css; charset=utf-8', 'Cache-Control': IMMUTABLE })

const SCRIPT = `explore-${script.sha256.slice(0, 12)}.js`
const STYLE = `explore-${Bun.hash(css).toString(36)}.css`
/** File name of the second script, which reads spreadsheets. The first script imports it when a file is dropped or chosen. */
const READER = `reader-${reader.sha256.slice(0, 12)}.js`

/** Files of the page, by name. Browsers cache them for a year, because the name of a file changes with its content. */
export const exploreFiles: Readonly<Record<string, (request: Headers) => Promise<Reply> | Reply>> = {
  [SCRIPT]: packedScript('explore.js.gz'),
  [STYLE]: (request) => styles.reply(request),
  [READER]: packedScript('exploreReader.js.gz'),
}

/**
 * Returns the handler of the page. The page's script requests the OpenAPI document and the data with an API key, or with the
 * token of a person. `signIn` returns how people sign in; it is null if people cannot sign in.
 */
export function explorePages(signIn: (() => Promise<SignIn>) | null) {
  const cache = new Map<string, { facts: string; body: StoredBody }>()
  return async ({ headers, path }: { readonly headers: Headers; readonly path: string }): Promise<Reply> => {
    const offered = signIn === null ? null : await signIn()
    const facts = JSON.stringify(offered)
    const root = rootOf(path)
    let kept = cache.get(root)
    // Renders the page at the first request, and again when the issuer's addresses have changed.
    if (kept?.facts !== facts) cache.set(root, (kept = { facts, body: explorePage(root, offered) }))
    return kept.body.reply(headers)
  }
}

function explorePage(root: string, signIn: SignIn | null): StoredBody {
  // After a sign-in, the page's address contains the issuer's answer. Requests for the page's files must not send this address as
  // their referrer.
  const head = html`<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="stylesheet" href="${root}explore/${STYLE}">
<script defer src="${root}explore/${SCRIPT}"></script>`
  const body = html`<div id="explore" data-root="${root}" data-reader="explore/${READER}" data-sign-in="${JSON.stringify(signIn)}"></div>
<noscript><p>This page needs JavaScript. The <a href="${root}docs">docs</a> say how to ask for the same data.</p></noscript>`
  // A page in the browser's cache could have addresses that the issuer no longer uses. So browsers must revalidate it.
  const headers = signIn === null ? {} : { 'Cache-Control': 'no-cache' }
  return htmlDocument({ title: 'Roster', root, head, body, policy: policyOf(signIn), headers })
}

/**
 * Returns the content security policy. No inline script runs, and the script cannot turn text into markup. The script sends
 * requests only to its own server and to the issuer's token endpoint. To sign in or out, the browser leaves the page for a page
 * of the issuer.
 */
function policyOf(signIn: SignIn | null): string[] {
  const ofTokens = signIn?.endpoints ? ` ${new URL(signIn.endpoints.token).origin}` : ''
  return [
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    `connect-src 'self'${ofTokens}`,
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ]
}
