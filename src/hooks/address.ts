// Addresses of webhooks: checks the URL of a hook, and resolves it for a delivery; refuses private networks.
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { type AllowedTargets, isAllowedTarget, isPrivate } from '../model/networks.ts'

/** Thrown if a URL is refused; the message is for an operator. */
export class AddressRefused extends Error {}

export type Resolve = (host: string) => Promise<readonly string[]>

const URL_LENGTH_MAX = 2_000

/**
 * Parses the URL of a hook. Whether the server may connect to the URL's address is checked at each delivery. @throws
 * AddressRefused
 */
export function readHookUrl(text: string): URL {
  const refuse = (why: string): never => {
    throw new AddressRefused(why)
  }
  const url = URL.canParse(text) ? new URL(text) : refuse('the address must be like https://receiver.example.com/path')
  if (!['https:', 'http:'].includes(url.protocol)) refuse('the address must begin with https://')
  if (url.username !== '' || url.password !== '')
    refuse('the address must have no user and password: deliveries are signed instead')
  // The limit is for the URL as it is stored and requested, with letters beyond ASCII as %C3%BC.
  if (url.href.length > URL_LENGTH_MAX) refuse(`the address has more than ${URL_LENGTH_MAX} characters`)
  if (url.hash !== '') refuse('the address must have no part behind #')
  return url
}

/** Returns the host of a URL as system calls take it: an IPv6 address without its brackets. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '')
}

const resolveName: Resolve = async (host) => (await lookup(host, { all: true })).map(({ address }) => address)

/**
 * Returns an address of the host to which a delivery may connect. The delivery uses this address, and does not resolve the host
 * again, because DNS may give another answer a moment later. @throws AddressRefused
 */
export async function addressFor(url: URL, allowed: AllowedTargets, resolve: Resolve = resolveName): Promise<string> {
  const host = hostOf(url)
  const addresses = isIP(host) === 0 ? await resolve(host).catch(unresolved) : [host]
  if (addresses.length === 0) throw new AddressRefused('the name has no address')
  const isNamed = (address: string) => isAllowedTarget(allowed, host, address)
  const found = addresses.find((address) => isNamed(address) || (url.protocol === 'https:' && !isPrivate(address)))
  if (found !== undefined) return found
  const reachable = addresses.find((address) => !isPrivate(address))
  if (reachable !== undefined) throw new AddressRefused('http:// is refused: use https://, or name the host in HOOKS_ALLOW')
  throw new AddressRefused(`${addresses[0]} is a private address: name it in HOOKS_ALLOW if it is meant`)
}

function unresolved(error: Error & { code?: string }): never {
  throw new AddressRefused(`the name cannot be resolved (${error.code ?? error.message})`)
}
