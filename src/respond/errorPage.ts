import { type ErrorCode, errorTable } from '../errors.ts'
import type { Reply } from './reply.ts'

/** The page that an error's `Reference` names; null for a code that does not exist. Case does not count. */
export function errorPage(code: string): Reply | null {
  const known = Object.keys(errorTable).find((name) => name.toLowerCase() === code.toLowerCase()) as
    | ErrorCode
    | undefined
  if (!known) return null
  const { status, title, explanation, remedy } = errorTable[known]
  const body = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${known}</title>
<style>body { font: 1.1rem/1.6 system-ui, sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1rem }</style>
<h1>${known}</h1>
<p>HTTP status ${status}. ${Bun.escapeHTML(title)}.</p>
<p>${Bun.escapeHTML(explanation)}</p>
<p>${Bun.escapeHTML(remedy)}</p>
</html>
`
  const headers = {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'",
    'X-Content-Type-Options': 'nosniff',
  }
  return { status: 200, headers, body }
}
