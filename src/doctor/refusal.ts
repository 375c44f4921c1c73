import { classify } from '../execute/sqlstate.ts'

/** What the driver calls an end of the connection before TLS, and what a certificate may lack. */
const TLS = /before secure TLS|certificate|SSL|TLS/i
const CERTIFICATE = /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_|SELF_SIGNED|UNABLE_TO_)/

/** Why a database could not be used, and what to do; it says what PostgreSQL or the network said, which names no password. `setting`: that has its address. */
export function refusalOf(error: unknown, setting: string): string {
  const { message = '', code } = (error ?? {}) as { message?: string; code?: unknown }
  const said = message || String(error)
  const sqlstate = String(code)
  if (sqlstate.startsWith('28'))
    return `it refuses the role (${said}): mend the name or password in ${setting}, or let it in`
  if (sqlstate === '3D000') return `it answers, and has no such database (${said}): make it, or mend ${setting}`
  if (sqlstate === '53300') return `it has no connection left (${said}): raise max_connections, or end others`
  if (sqlstate === '57P03') return `it is starting or recovering (${said}): wait`
  if (TLS.test(said) || CERTIFICATE.test(sqlstate))
    return `TLS with it does not come about (${said}): mend its certificate, or sslmode in ${setting}`
  if (isUnreached(error)) return `it cannot be reached (${said}): start it, or mend ${setting}`
  return `it answers with an error (${said})`
}

/** No connection came about, or it broke. */
function isUnreached(error: unknown): boolean {
  const verdict = classify(error)
  return verdict === 'notSent' || verdict === 'lost'
}
