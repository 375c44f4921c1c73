import { isIP } from 'node:net'
import { hostname } from 'node:os'

/** Every browser sends the first with all that it asks; programs that scrape send none. */
const OF_BROWSERS = ['accept-language', 'origin', 'sec-fetch-site']

/**
 * Whether a browser asks by a name that this machine has not given itself: a page whose name its owner has made lead here (DNS rebinding),
 * which could read the answer. For browsers it is of one origin, under a name that they do not trust: so they send neither `Origin` nor
 * `Sec-Fetch-Site`, and `Host` alone shows it. Programs may ask by any name, as Prometheus does by that of a service.
 */
export function isRebound({ headers }: Request, ownHost: string): boolean {
  const host = headers.get('host')
  if (host === null || !OF_BROWSERS.some((name) => headers.has(name))) return false
  const name = nameOf(host)
  return isIP(name) === 0 && !['localhost', hostname().toLowerCase(), nameOf(ownHost)].includes(name)
}

/** Without port, brackets and the dot of the root. */
function nameOf(host: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? []
  return (bracketed ?? plain ?? host).toLowerCase().replace(/\.$/, '')
}
