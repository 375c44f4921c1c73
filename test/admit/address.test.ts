import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { clientAddress, clientOf, keyClient } from '../../src/admit/address.ts'
import { parseNetworks } from '../../src/model/networks.ts'
import type { Client } from '../../src/model/principal.ts'

const byte = fc.integer({ min: 0, max: 255 })
const ipv4 = fc.tuple(byte, byte, byte, byte)
const word = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff }))
/** The eight parts of an address outside 0000::/8, where only the loopback and the like are. */
const ipv6 = fc.tuple(fc.integer({ min: 0x100, max: 0xffff }), word, word, word, word, word, word, word)
const zone = fc.constantFrom('', '%eth0', '%1', '%en0.100')

const hex = (value: number) => value.toString(16)
const dotted = (high: number, low: number) => [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.')

/** One of the many ways to write an address: leading zeros, capitals, any run of zeros left out, IPv4 at the end. */
function written(words: readonly number[], how: { pad: number; upper: boolean; from: number; to: number; v4: boolean }) {
  const parts = words.map((part) => hex(part).padStart(how.pad, '0'))
  if (how.v4) parts.splice(6, 2, dotted(words[6] as number, words[7] as number))
  const [from, to] = [Math.min(how.from, how.to), Math.max(how.from, how.to)]
  const isRun = to > from && words.slice(from, to).every((part) => part === 0) && (!how.v4 || to <= 6)
  const text = isRun ? `${parts.slice(0, from).join(':')}::${parts.slice(to).join(':')}` : parts.join(':')
  return how.upper ? text.toUpperCase() : text
}

const spelling = fc.record({
  pad: fc.integer({ min: 1, max: 4 }),
  upper: fc.boolean(),
  from: fc.integer({ min: 0, max: 8 }),
  to: fc.integer({ min: 0, max: 8 }),
  v4: fc.boolean(),
})

const numbersOf = ({ low, high }: Client) => [low, high]

describe('clientOf', () => {
  test('D35: an IPv4 address is one client', () => {
    fc.assert(
      fc.property(ipv4, ipv4, (one, other) => {
        const [a, b] = [clientOf(one.join('.')), clientOf(other.join('.'))]
        const same = one.join() === other.join()
        expect(Bun.deepEquals(numbersOf(a), numbersOf(b))).toBe(same)
        expect(a.text === b.text).toBe(same)
        expect(a.text).toBe(`address:${one.join('.')}`)
      }),
    )
  })

  test('D35: all addresses of an IPv6 /64 are one client, in any notation', () => {
    fc.assert(
      fc.property(ipv6, fc.tuple(word, word, word, word), spelling, spelling, zone, (words, others, one, other, tail) => {
        const neighbour = [...words.slice(0, 4), ...others]
        const client = clientOf(written(words, one) + tail)
        expect(client).toEqual(clientOf(written(neighbour, other)))
        expect(client.text).toBe(`address:${words.slice(0, 4).map(hex).join(':')}::/64`)
        expect(numbersOf(client)).toEqual([((words[0] << 16) | words[1]) >> 0, ((words[2] << 16) | words[3]) >> 0])
      }),
      { numRuns: 2_000 },
    )
  })

  test('D35: neighboring IPv4 addresses, and neighboring IPv6 /64 networks, are different clients', () => {
    const addresses = ['0.0.0.0', '0.0.0.1', '1.0.0.0', '127.0.0.1', '128.0.0.0', '255.255.255.255', '192.0.2.1']
    const networks = ['2001:db8::1', '2001:db8:0:1::1', '2001:db8:1::1', '2001:db9::1', '2001:db8:0:8000::1', '2002:db8::1']
    const texts = [...addresses, ...networks]
    expect(new Set(texts.map((text) => String(numbersOf(clientOf(text))))).size).toBe(texts.length)
    expect(new Set(texts.map((text) => clientOf(text).text)).size).toBe(texts.length)
  })

  test('an IPv4 address and an IPv6 network are never the same client, and `low`, a half of a client’s id, is never 0', () => {
    fc.assert(
      fc.property(ipv4, ipv6, spelling, (four, six, how) => {
        const [a, b] = [clientOf(four.join('.')), clientOf(written(six, how))]
        expect(numbersOf(a)).not.toEqual(numbersOf(b))
        expect([a.low === 0, b.low === 0]).toEqual([false, false])
      }),
    )
    for (const address of ['::', '::1', '::2', '0:0:1::', '0.0.0.0', '', 'garbage']) expect(clientOf(address).low).not.toBe(0)
  })

  test.each([
    ...['::ffff:192.0.2.1', '::FFFF:192.0.2.1', '::ffff:192.0.2.1%eth0', '::ffff:c000:201', '::ffff:c000:0201'],
    ...['0:0:0:0:0:ffff:192.0.2.1', '0000:0000:0000:0000:0000:FFFF:C000:0201'],
  ])('an IPv4-mapped IPv6 address is the client of its IPv4 address: %s', (address) =>
    expect(clientOf(address)).toEqual(clientOf('192.0.2.1')),
  )

  test.each(['', 'garbage', '1.2.3', '1.2.3.4.5', '256.1.1.1', '01.2.3.4', '1:2:3', ':::', 'g::', '%eth0', '1.2.3.4:80'])(
    'all texts that are no address are one client: "%s"',
    (address) => expect(clientOf(address)).toEqual({ low: 2, high: 0, text: 'address:unknown' }),
  )

  test('clientOf returns a client for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
        const { low, high } = clientOf(text)
        expect([low | 0, high | 0, low !== 0]).toEqual([low, high, true])
      }),
    )
  })
})

describe('keyClient', () => {
  test('keys of one name are one client, and 100,000 names are 100,000 different clients', () => {
    expect(keyClient('ci')).toEqual(keyClient('ci'))
    const clients = Array.from({ length: 100_000 }, (_, index) => keyClient(`ci-${index}`))
    expect(new Set(clients.map(({ low, high }) => low * 2 ** 32 + high)).size).toBe(100_000)
    expect(clients.every(({ low, high }) => low !== 0 && (low | 0) === low && (high | 0) === high)).toBe(true)
  })

  test('a client’s text, its key in Redis, is different for each name, and escapes all special characters', () => {
    for (const name of ['a b', 'a:b', '{x}', 'Zoë', '\n1', '%20']) expect(keyClient(name).text).toMatch(/^key:[\w%.~-]+$/)
    expect(keyClient('a b').text).not.toBe(keyClient('a%20b').text)
  })
})

describe('clientAddress', () => {
  const trusted = parseNetworks('10.0.0.0/8,127.0.0.1,2001:db8:a::/48')
  // The tests of the API send more such cases to a server.
  const cases: [string, string, string | null, string][] = [
    ['an untrusted peer is the client, whatever proxy it names', '203.0.113.9', '10.0.0.1', '203.0.113.9'],
    ['if all entries are trusted proxies, the first one is the client', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['tabs and spaces around entries are ignored', '10.0.0.1', '\t198.51.100.1 ,\t 10.0.0.2 ', '198.51.100.1'],
    ['an entry of a trusted IPv6 proxy is skipped', '2001:db8:a::1', '198.51.100.1, 2001:db8:a:1::2', '198.51.100.1'],
    ['an IPv4-mapped entry of a trusted proxy is skipped', '10.0.0.1', '198.51.100.1, ::ffff:10.0.0.2', '198.51.100.1'],
    ['garbage ends the chain at the last good hop', '10.0.0.1', '198.51.100.1, garbage, 10.0.0.2', '10.0.0.2'],
    ['an entry with an invalid port ends the chain, so that the peer is the client', '10.0.0.1', '198.51.100.1:x', '10.0.0.1'],
    ['an entry with an unclosed bracket ends the chain, so that the peer is the client', '10.0.0.1', '[2001:db8::1', '10.0.0.1'],
    ['without a peer, the address of the client is empty', '', '198.51.100.1', ''],
  ]
  for (const [name, peer, forwardedFor, address] of cases)
    test(name, () => expect(clientAddress(trusted, peer, forwardedFor)).toBe(address))

  test('forged entries left of the client’s address do not change it', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 40 }), ipv4, fc.array(byte, { maxLength: 4 }), (made, parts, hops) => {
        const client = ['198', ...parts.slice(1)].join('.')
        const chain = [client, ...hops.map((hop) => `10.0.0.${hop}`)].join(', ')
        expect(clientAddress(trusted, '10.0.0.1', `${made}, ${chain}`)).toBe(client)
      }),
    )
  })

  test('only the last entries of a very long X-Forwarded-For are read', () => {
    const long = ['198.51.100.1', ...Array.from({ length: 100_000 }, () => '10.0.0.2')].join(',')
    expect(clientAddress(trusted, '10.0.0.1', long)).toBe('10.0.0.2')
    const few = ['198.51.100.1', ...Array.from({ length: 31 }, () => '10.0.0.2')].join(',')
    expect(clientAddress(trusted, '10.0.0.1', few)).toBe('198.51.100.1')
  })
})
