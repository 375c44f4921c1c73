// Renders HTML pages: escapes values in markup, adds a content security policy, and has the common layout and style.
import { createHash } from 'node:crypto'
import type { PageJson } from '../describe/successes.ts'
import { JSON_TYPE } from '../respond/reply.ts'
import { StoredBody } from '../respond/storedBody.ts'

/** `Cache-Control` of pages: five minutes. A reader who goes back and forth loads each page once. */
const PAGE_CACHE = 'max-age=300'

/** Returns the source expression that allows an inline style or script in a content security policy. CSP 3, 6.7.3.3. */
export function hashSource(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}

interface Document {
  readonly title: string
  /** Relative path from the page to the server's root, as `rootOf` returns it: `./`, `../` and so on. */
  readonly root: string
  readonly head: Markup
  readonly body: Markup
  /** Directives that are added to `POLICY`. The page may load only kinds of resources that a directive allows. */
  readonly policy: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Returns the path from a page to the server's root. It is relative, so that it works under any host name and behind a proxy that
 * adds a prefix.
 */
export function rootOf(path: string): string {
  return '../'.repeat(Math.max(0, path.split('/').length - 2)) || './'
}

const POLICY = ["default-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"]

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

/** Renders a page in the common layout. The page runs no script, and loads only this server's icon. */
export function layOut({ title, root, main }: Pick<Document, 'title' | 'root'> & { readonly main: Markup }): StoredBody {
  const body = html`<nav aria-label="Roster">
<a href="${root}">Roster</a>
<a href="${root}explore">Explore</a>
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

/**
 * Returns the JSON that programs get at the address of a page. The type of `value` follows from the page's schema in the OpenAPI
 * document.
 */
export function jsonPage<Name extends keyof PageJson>(value: PageJson[Name]): StoredBody {
  return new StoredBody(JSON.stringify(value), { 'Content-Type': JSON_TYPE, 'Cache-Control': PAGE_CACHE, Vary: 'Accept' })
}

/** Text that is markup already: a constant, or a result of `html`, which has escaped the values in it. */
export class Markup {
  constructor(readonly text: string) {}
}

type Part = Markup | string | number | readonly Markup[]

/**
 * Makes markup from a template literal. Interpolated strings are escaped, so that they can stand in text and in quoted
 * attributes.
 */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(String.raw({ raw: texts }, ...parts.map(write)))
}

function write(part: Part): string {
  if (part instanceof Markup) return part.text
  if (typeof part === 'string' || typeof part === 'number') return Bun.escapeHTML(part)
  return part.map(({ text }) => text).join('')
}

/** Style of the pages in the common layout. The reader's system chooses between light and dark. */
const style = `
:root { color-scheme: light dark;
  --back: #fff; --text: #1b1f23; --quiet: #59616a; --line: #d5dae0; --band: #f4f6f8; --link: #0550ae }
@media screen and (prefers-color-scheme: dark) { :root {
  --back: #14171a; --text: #e8eaed; --quiet: #a3abb4; --line: #3a4149; --band: #1f2429; --link: #79b8ff } }
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1rem 1rem 4rem; max-width: 46rem; background: var(--back); color: var(--text);
  font: 1.0625rem/1.6 system-ui, sans-serif; overflow-wrap: anywhere }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; padding-bottom: .75rem; border-bottom: 1px solid var(--line) }
nav a:first-child { font-weight: 700 }
h1 { margin: 2rem 0 .5rem; font-size: 2rem; line-height: 1.2 }
h2 { margin: 2.25rem 0 .5rem; font-size: 1.25rem; line-height: 1.3 }
p, ul, dl { margin: .75rem 0 }
ul { padding-left: 1.25rem }
li { margin: .375rem 0 }
a { color: var(--link); text-underline-offset: .15em }
a:focus-visible { outline: 3px solid var(--link); outline-offset: 3px; border-radius: 2px }
code, pre { font: .875em/1.55 ui-monospace, "DejaVu Sans Mono", monospace }
pre { margin: .75rem 0; padding: .75rem 1rem; border: 1px solid var(--line); border-radius: 6px; background: var(--band);
  white-space: pre-wrap }
.all { user-select: all }
.quiet { color: var(--quiet) }
`
