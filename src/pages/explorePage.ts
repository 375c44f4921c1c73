// The page /explore and its files: scripts and style have hashes in their names.
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
/** Reads dropped files; the script imports it then. */
const READER = `reader-${reader.sha256.slice(0, 12)}.js`

/** Files of the page. Browsers cache them for ever. */
export const exploreFiles: Readonly<Record<string, (request: Headers) => Promise<Reply> | Reply>> = {
  [SCRIPT]: packedScript('explore.js.gz'),
  [STYLE]: (request) => styles.reply(request),
  [READER]: packedScript('exploreReader.js.gz'),
}

/** Returns the page. Its script reads the OpenAPI document, and then lists, with a key or as a person who signs in. */
export function explorePages(signIn: (() => Promise<SignIn>) | null) {
  const cache = new Map<string, { facts: string; body: StoredBody }>()
  return async ({ headers, path }: { readonly headers: Headers; readonly path: string }): Promise<Reply> => {
    const offered = signIn === null ? null : await signIn()
    const facts = JSON.stringify(offered)
    const root = rootOf(path)
    let kept = cache.get(root)
    // The issuer has other addresses than before.
    if (kept?.facts !== facts) cache.set(root, (kept = { facts, body: explorePage(root, offered) }))
    return kept.body.reply(headers)
  }
}

function explorePage(root: string, signIn: SignIn | null): StoredBody {
  // The answer of a sign-in is in the page's address: requests for the page's files must not repeat it.
  const head = html`<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="stylesheet" href="${root}explore/${STYLE}">
<script defer src="${root}explore/${SCRIPT}"></script>`
  const body = html`<div id="explore" data-root="${root}" data-reader="explore/${READER}" data-sign-in="${JSON.stringify(signIn)}"></div>
<noscript><p>This page needs JavaScript. The <a href="${root}docs">docs</a> say how to ask for the same data.</p></noscript>`
  // With a page of five minutes ago, its script would ask addresses that the issuer no longer has.
  const headers = signIn === null ? {} : { 'Cache-Control': 'no-cache' }
  return htmlDocument({ title: 'Roster', root, head, body, policy: policyOf(signIn), headers })
}

/**
 * Returns the content security policy: no inline script runs, and the script cannot turn text into markup. Besides its own
 * server it asks the issuer for tokens; the issuer's other addresses are opened by the browser, and not by the script.
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
