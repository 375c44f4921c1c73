import { createHash } from 'node:crypto'
import { StoredBody } from '../respond/storedBody.ts'
import { html, Markup } from './html.ts'
import { style } from './style.ts'

/** `root` leads from the page to the server's root: `./`, or `../` for each segment more. */
interface Page {
  readonly title: string
  readonly root: string
  readonly main: Markup
}

/** Minutes: a reader who goes back and forth asks once. */
export const PAGE_CACHE = 'max-age=300'

/** As a content security policy names an inline style or script. CSP 3, 6.7.3.3. */
export function hashSource(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}

const POLICY = [
  "default-src 'none'",
  `style-src ${hashSource(style)}`,
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': POLICY,
  'Cache-Control': PAGE_CACHE,
  Vary: 'Accept',
}

/** A page for people. It runs nothing, and loads the icon of this server alone. */
export function layOut({ title, root, main }: Page): StoredBody {
  const page = html`${new Markup('<!doctype html>')}
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="${root}favicon.ico">
<style>${new Markup(style)}</style>
</head>
<body>
<nav aria-label="Roster">
<a href="${root}">Roster</a>
<a href="${root}docs">Docs</a>
<a href="${root}errors">Errors</a>
<a href="${root}openapi.json">OpenAPI</a>
</nav>
<main>
${main}
</main>
</body>
</html>
`
  return new StoredBody(page.text, HEADERS)
}
