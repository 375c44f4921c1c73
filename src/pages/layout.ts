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

/** What one document has beside what all have. */
interface Document {
  readonly title: string
  /** The way from the page to the server's root. */
  readonly root: string
  readonly head: Markup
  readonly body: Markup
  /** Directives of its content security policy; what no document's policy names is refused. */
  readonly policy: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}

const POLICY = ["default-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"]

/** A whole document. */
export function htmlDocument({ title, root, head, body, policy, headers }: Document): StoredBody {
  const page = html`${new Markup('<!doctype html>')}
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="${root}favicon.ico">
${head}
</head>
<body>
${body}
</body>
</html>
`
  return new StoredBody(page.text, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': [...POLICY, ...policy].join('; '),
    'Cache-Control': PAGE_CACHE,
    ...headers,
  })
}

/** A page for people. It runs nothing, and loads the icon of this server alone. */
export function layOut({ title, root, main }: Page): StoredBody {
  const body = html`<nav aria-label="Roster">
<a href="${root}">Roster</a>
<a href="${root}docs">Docs</a>
<a href="${root}errors">Errors</a>
<a href="${root}openapi.json">OpenAPI</a>
</nav>
<main>
${main}
</main>`
  const policy = [`style-src ${hashSource(style)}`, "img-src 'self'"]
  const head = html`<style>${new Markup(style)}</style>`
  return htmlDocument({ title, root, head, body, policy, headers: { Vary: 'Accept' } })
}
