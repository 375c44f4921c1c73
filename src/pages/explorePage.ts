// The page /explore and its files: script and style have hashes in their names.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Reply } from '../respond/reply.ts'
import { StoredBody } from '../respond/storedBody.ts'
import { html, htmlDocument } from './layout.ts'
import { IMMUTABLE, packedScript } from './packedScript.ts'
import vendored from './vendor/explore.json'

const css = readFileSync(join(import.meta.dir, 'explore/explore.css'), 'utf8')
const styles = new StoredBody(css, { 'Content-Type': 'text/css; charset=utf-8', 'Cache-Control': IMMUTABLE })

/** Files of the page. Browsers cache them for ever. */
export const exploreFiles: Readonly<Record<string, (request: Headers) => Promise<Reply> | Reply>> = {
  [`explore-${vendored.sha256.slice(0, 12)}.js`]: packedScript('explore.js.gz'),
  [`explore-${Bun.hash(css).toString(36)}.css`]: (request) => styles.reply(request),
}

/** Content security policy: no inline script runs, and the script cannot turn text into markup. */
const POLICY = [
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
]

/** Renders the page; its script reads the OpenAPI document, and then lists with a key. */
export function explorePage(root: string): StoredBody {
  const [script = '', style = ''] = Object.keys(exploreFiles)
  const head = html`<meta name="color-scheme" content="light dark">
<link rel="stylesheet" href="${root}explore/${style}">
<script defer src="${root}explore/${script}"></script>`
  const body = html`<div id="explore" data-root="${root}"></div>
<noscript><p>This page needs JavaScript. The <a href="${root}docs">docs</a> say how to ask for the same data.</p></noscript>`
  return htmlDocument({ title: 'Roster', root, head, body, policy: POLICY })
}
