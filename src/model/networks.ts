import { BlockList, isIP } from 'node:net'

/**
 * Reads `10.0.0.0/8,192.0.2.1,::1`: addresses, or networks with the length of their prefix.
 * @throws RangeError that names the part at fault
 */
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
