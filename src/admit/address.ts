// Addresses of requests: the address of a client that comes through trusted proxies, and the client that a key or an address is
// charged to.
import { type BlockList, isIP } from 'node:net'
import type { Client } from '../model/principal.ts'

/**
 * Lower half of the number of every IPv4 client. No IPv6 network begins with these 32 bits, so no IPv4 client has the number of
 * an IPv6 client.
 */
const IPV4 = 1
/** The first words of an IPv6 address that maps an IPv4 address. RFC 4291, 2.5.5.2 */
const MAPPED = [0, 0, 0, 0, 0, 0xffff]
const NOWHERE: Client = { low: 2, high: 0, text: 'address:unknown' }

/** Returns the client that all requests with keys of this name are charged to. */
export function keyClient(name: string): Client {
  return clientNamed('key', name)
}

/** Returns the client that all requests of a key or a person with this name are charged to. */
export function clientNamed(kind: 'key' | 'person', name: string): Client {
  const low = Bun.hash.xxHash32(name, 1) | 0
  const high = Bun.hash.xxHash32(name, 2) | 0
  return { low: low || NOWHERE.low, high, text: `${kind}:${encodeURIComponent(name)}` }
}

/**
 * Returns the client of an address: the IPv4 address, or the /64 network of an IPv6 address, since one customer has all of such a
 * network.
 */
export function clientOf(address: string): Client {
  const plain = address.replace(/%.*$/, '')
  const version = isIP(plain)
  if (version === 0) return NOWHERE
  const words = version === 4 ? [...MAPPED, ...wordsOf(plain)] : expand(plain)
  const [a, b, c, d, , , high, low] = words as [number, number, number, number, number, number, number, number]
  if (MAPPED.every((word, index) => words[index] === word)) {
    const text = `address:${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
    return { low: IPV4, high: (high << 16) | low, text }
  }
  const text = `address:${[a, b, c, d].map((word) => word.toString(16)).join(':')}::/64`
  return { low: (a << 16) | b || NOWHERE.low, high: (c << 16) | d, text }
}

function expand(address: string): number[] {
  const [before = '', after] = address.split('::')
  const parts = (text: string) => (text === '' ? [] : text.split(':').flatMap(wordsOf))
  const head = parts(before)
  const tail = after === undefined ? [] : parts(after)
  return [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail]
}

/** Returns the 16-bit words of a part of an address: one word for a hexadecimal number, two words for an IPv4 address. */
function wordsOf(part: string): number[] {
  if (!part.includes('.')) return [Number.parseInt(part, 16)]
  const [a, b, c, d] = part.split('.').map(Number) as [number, number, number, number]
  return [(a << 8) | b, (c << 8) | d]
}

/** Maximum number of entries of X-Forwarded-For that are read, because a client can send any number of entries. */
const HOPS_MAX = 32

/**
 * Returns the client's address: the last entry of X-Forwarded-For that is not a trusted proxy. A client can forge the entries
 * before it.
 */
export function clientAddress(trusted: BlockList, peer: string, forwardedFor: string | null): string {
  if (forwardedFor === null) return peer
  let address = peer
  for (const hop of forwardedFor.split(',').slice(-HOPS_MAX).reverse()) {
    const next = withoutPort(hop.trim())
    if (isIP(next) === 0 || !isTrusted(trusted, address)) return address
    address = next
  }
  return address
}

function isTrusted(trusted: BlockList, address: string): boolean {
  const version = isIP(address)
  return version !== 0 && trusted.check(address, version === 4 ? 'ipv4' : 'ipv6')
}

/** Removes the port that some proxies add: `192.0.2.1:4711` or `[2001:db8::1]:4711`. */
function withoutPort(hop: string): string {
  const [, bracketed] = /^\[(.+)\](?::\d+)?$/.exec(hop) ?? []
  return bracketed ?? hop.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
}
