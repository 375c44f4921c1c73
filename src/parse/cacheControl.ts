/** As a whole directive: `no-cachet` is none, and what stands behind an equals sign is an argument that requests do not have. */
const NO_CACHE = /(?:^|,)[ \t]*no-cache[ \t]*(?:[,=]|$)/i

/** Whether a client wants what the database has now, however much is known in memory. RFC 9111, 5.2.1.4. D49 */
export function asksNow(headers: Headers): boolean {
  const directives = headers.get('cache-control')
  return directives !== null && NO_CACHE.test(directives)
}
