// Findings of `roster doctor`. Several files use the findings about clocks, and about databases that refuse a connection.
import { classify } from '../execute/outcomes.ts'

/** A finding of the doctor. `advice`: a server runs, but could run better or more safely. */
export interface Finding {
  readonly check: string
  readonly state: 'ok' | 'advice' | 'fault'
  /** Description of the finding; advice and faults also say what to do. */
  readonly text: string
}

export const ok = (check: string, text: string): Finding => ({ check, state: 'ok', text })
export const advice = (check: string, text: string): Finding => ({ check, state: 'advice', text })
export const fault = (check: string, text: string): Finding => ({ check, state: 'fault', text })

/** Maximum difference between clocks that does no harm, in ms. Clocks decide when keys expire and limits reset. */
const CLOCK_DIFFERENCE_MS_MAX = 2_000

/** Compares another machine's clock with this one. `thereMs` was read between `fromMs` and `toMs`. */
export function clockOff(check: string, thereMs: number, fromMs: number, toMs: number): Finding {
  const offMs = thereMs < fromMs ? fromMs - thereMs : Math.max(0, thereMs - toMs)
  const seconds = (offMs / 1_000).toFixed(1)
  if (offMs <= CLOCK_DIFFERENCE_MS_MAX) return ok(check, 'goes as this machine’s')
  const way = thereMs < fromMs ? 'behind' : 'ahead'
  return fault(check, `${seconds} s ${way} of this machine’s: set both by NTP`)
}

/** PostgreSQL's code for a missing right: insufficient_privilege. */
export const LACKS_RIGHT = '42501'
/** The page that lists the rights which a server needs. */
export const PAGE = '(docs/operations/databases.md, "Your own")'

/** Matches messages of the driver about TLS, such as for a connection that ends before TLS. */
const TLS = /before secure TLS|certificate|SSL|TLS/i
/** Matches error codes for a certificate that is not valid, and for a failed TLS handshake. */
const CERTIFICATE = /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_|SELF_SIGNED|UNABLE_TO_)/

/**
 * Returns why a database could not be used, and what to do. Repeats no password. `setting`: name of the setting with the
 * database's URL.
 */
export function refusalOf(error: unknown, setting: string): string {
  const { message = '', code } = (error ?? {}) as { message?: string; code?: unknown }
  const said = message || String(error)
  const sqlstate = String(code)
  if (sqlstate.startsWith('28')) return `it refuses the role (${said}): mend the name or password in ${setting}, or let it in`
  if (sqlstate === '3D000') return `it answers, and has no such database (${said}): make it, or mend ${setting}`
  if (sqlstate === LACKS_RIGHT) return `its role lacks a right (${said}): let the owner of the tables grant it ${PAGE}`
  if (sqlstate === '53300') return `it has no connection left (${said}): raise max_connections, or end others`
  if (sqlstate === '57P03') return `it is starting or recovering (${said}): wait`
  if (TLS.test(said) || CERTIFICATE.test(sqlstate))
    return `the TLS handshake with it fails (${said}): mend its certificate, or sslmode in ${setting}`
  if (['notSent', 'lost'].includes(classify(error))) return `it cannot be reached (${said}): start it, or mend ${setting}`
  return `it answers with an error (${said})`
}
