import { isIP } from 'node:net'
import { hostname } from 'node:os'

/**
 * Whether a browser asks by a name that this machine has not given itself: a page whose name its owner has made lead here (DNS rebinding),
 * which could read the answer. For browsers it is of one origin, under a name that they do not trust: so they send neither `Origin` nor
 * `Sec-Fetch-Site`, and `Host` alone shows it. Programs may ask by any name, as Prometheus does by that of a service.
 */
export function isRebound({ headers }: Request, ownHost: string): boolean {
  const host = headers.get('host')
  if (host === null || !isOfBrowser(headers)) return false
  const name = nameOf(host)
  return isIP(name) === 0 && !['localhost', hostname().toLowerCase(), nameOf(ownHost)].includes(name)
}

/**
 * Every browser says which languages it takes, which no page can keep back; programs that scrape do not. Node does, and says its mode
 * without the site, as no browser does and no page can make one do.
 */
function isOfBrowser(headers: Headers): boolean {
  if (headers.has('origin') || headers.has('sec-fetch-site')) return true
  return headers.has('accept-language') && !headers.has('sec-fetch-mode')
}

/** Without port, brackets and the dot of the root. */
function nameOf(host: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? []
  return (bracketed ?? plain ?? host).toLowerCase().replace(/\.$/, '')
}
