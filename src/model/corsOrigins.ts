// Origins of web pages, as CORS_ORIGINS lists them.

/** Maximum length of an origin: a DNS name has up to 253 characters. */
const ORIGIN_LENGTH_MAX = 'https://'.length + 253 + ':65535'.length

/** Reads `*`, or origins as browsers send them in the header Origin (RFC 6454, 6.2). @throws RangeError that names each fault */
export function parseOrigins(text: string): '*' | ReadonlySet<string> {
  const parts = text.split(',').map((part) => part.trim())
  if (parts.length === 1 && parts[0] === '*') return '*'
  const faults = parts.map(faultOf).filter((fault) => fault !== null)
  if (faults.length > 0) throw new RangeError(faults.join('; '))
  return new Set(parts)
}

/** Returns the fault of an origin; null if the origin is valid. */
function faultOf(part: string): string | null {
  if (part === '*') return '"*" stands alone, without other origins'
  if (part.includes('*')) return `"${part}" is a pattern: write each origin out, or * alone`
  if (!/^https?:/i.test(part)) return `"${part}" does not begin with http:// or https://`
  const origin = URL.parse(part)?.origin
  if (origin === undefined) return `"${part}" is not an address`
  if (origin !== part) return `"${part}" is not as browsers send it: write ${origin}`
  return part.length > ORIGIN_LENGTH_MAX ? `"${part.slice(0, 60)}..." is too long for a name` : null
}
