// Network addresses: tells public from private addresses, and parses the hosts and networks that an operator allows.
import { BlockList, isIP } from 'node:net'

/** Hosts and networks that webhooks may reach although they are not public. */
export interface AllowedTargets {
  /** Host names in lower case. */
  readonly hosts: ReadonlySet<string>
  readonly networks: BlockList
}

/** Hosts that only clients on this machine can reach. */
export const LOOPBACK = /^(localhost|127\.[\d.]+|::1|\[::1\])$/

const HOST = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/
/** Matches texts of digits and punctuation, which are meant as an address or a network. */
const NUMERIC = /^[\d./:]*$/

/**
 * Parses `receiver.internal,10.0.0.0/8`: hosts, addresses and networks. `text`: null if nothing is allowed. @throws RangeError
 * that names the fault
 */
export function parseTargets(text: string | null): AllowedTargets {
  const hosts = new Set<string>()
  const networks: string[] = []
  for (const part of text === null ? [] : text.split(',').map((piece) => piece.trim().toLowerCase())) {
    if (part.includes('/') || isIP(part) !== 0 || NUMERIC.test(part)) networks.push(part)
    else if (HOST.test(part)) hosts.add(part)
    else throw new RangeError(`"${part}" is not a host, an address or a network like 10.0.0.0/8`)
  }
  return { hosts, networks: networks.length === 0 ? new BlockList() : parseNetworks(networks.join()) }
}

/** Returns whether an operator has allowed the host, or a network that contains its address. */
export function isAllowedTarget({ hosts, networks }: AllowedTargets, host: string, address: string): boolean {
  return hosts.has(host.toLowerCase()) || networks.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6')
}

/** Returns whether an address is not public. IPv6 is public only if it is global unicast, and contains no IPv4 address. */
export function isPrivate(address: string): boolean {
  if (isIP(address) === 4) return PRIVATE_V4.check(address, 'ipv4')
  return !GLOBAL_V6.check(address, 'ipv6') || SPECIAL_V6.check(address, 'ipv6')
}

// IPv4 and IPv6 have separate lists, because in a common list ::ffff:0:0/96 would match every IPv4 address. The list of IPv4 has
// this machine, private networks, link-local networks (where clouds answer with credentials), and addresses that no server has.
const PRIVATE_V4 = parseNetworks(`
  0.0.0.0/8, 10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, 192.0.0.0/24, 192.0.2.0/24, 192.88.99.0/24,
  192.168.0.0/16, 198.18.0.0/15, 198.51.100.0/24, 203.0.113.0/24, 224.0.0.0/4, 240.0.0.0/4`)
const GLOBAL_V6 = parseNetworks('2000::/3')
/**
 * Networks within 2000::/3 that are not public: Teredo and other special uses, documentation, 6to4. NAT64 and IPv4-mapped
 * addresses are not in 2000::/3 anyway.
 */
const SPECIAL_V6 = parseNetworks('2001::/23,2001:db8::/32,2002::/16,3fff::/20')

/** Parses `10.0.0.0/8,192.0.2.1,::1`: networks, or single addresses. @throws RangeError that names the faulty part */
export function parseNetworks(text: string): BlockList {
  const networks = new BlockList()
  for (const part of text.split(',').map((piece) => piece.trim())) {
    const [, address = '', length] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(part) ?? []
    const version = isIP(address)
    const bits = version === 4 ? 32 : 128
    const prefix = length === undefined ? bits : Number(length)
    if (version === 0 || prefix > bits) throw new RangeError(`"${part}" is not an address or a network like 10.0.0.0/8`)
    networks.addSubnet(address, prefix, version === 4 ? 'ipv4' : 'ipv6')
  }
  return networks
}
