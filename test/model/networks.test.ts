import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { parseNetworks } from '../../src/model/networks.ts'

const byte = fc.integer({ min: 0, max: 255 })
const ipv4 = fc.tuple(byte, byte, byte, byte)

describe('parseNetworks', () => {
  const contains = (text: string, address: string) => parseNetworks(text).check(address, address.includes(':') ? 'ipv6' : 'ipv4')

  test('accepts exactly the addresses of a random network', () => {
    fc.assert(
      fc.property(ipv4, fc.integer({ min: 0, max: 31 }), fc.integer({ min: 0, max: 32 }), (network, bit, bits) => {
        const parts = [...network]
        const place = 3 - (bit >> 3)
        parts[place] = (parts[place] as number) ^ (1 << (bit & 7))
        expect(contains(`${network.join('.')}/${bits}`, network.join('.'))).toBe(true)
        expect(contains(`${network.join('.')}/${bits}`, parts.join('.'))).toBe(bit < 32 - bits)
      }),
    )
  })

  test.each([
    ['2001:db8::/32', '2001:db8:ffff::1', true],
    ['2001:db8::/32', '2001:db9::', false],
    ['2001:db8::/33', '2001:db8:8000::', false],
    ['::1', '::1', true],
    ['192.0.2.1', '192.0.2.2', false],
    ['::1', '::2', false],
    [' 10.0.0.0/8 , ::1 ', '::1', true],
    ['0.0.0.0/0', '203.0.113.9', true],
    ['0.0.0.0/0', '2001:db8::1', false],
    ['::/0', '2001:db8::1', true],
  ])('the network %s contains %s: %p', (text, address, isInside) => expect(contains(text, address)).toBe(isInside))

  test('refuses an invalid network, and names the faulty part', () => {
    const notOne = ['', ',', '10.0.0.0/8,', '10.0.0.0/33', '::1/129', '10.0.0.0/', '/8', '10.0.0.0/-1', '10/8', 'proxy.local']
    for (const text of [...notOne, '10.0.0.0/8/8', '10.0.0.0/8 ::1'])
      expect(() => parseNetworks(text)).toThrow(/^".*" is not an address or a network like 10\.0\.0\.0\/8$/)
  })
})
