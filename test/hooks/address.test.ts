import { describe, expect, test } from 'bun:test'
import { addressFor, readHookUrl } from '../../src/hooks/address.ts'
import { isPrivate, parseTargets } from '../../src/model/networks.ts'
import { titled } from '../support/titles.ts'

const NONE = parseTargets(null)
const PUBLIC = ['8.8.8.8', '2606:4700::1111', '172.15.0.1', '172.32.0.1', '100.63.255.255', '100.128.0.1', '169.253.0.1']
const PRIVATE = [
  ...['127.0.0.1', '127.255.255.254', '10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.0.1', '100.64.0.1'],
  ...['169.254.169.254', '0.0.0.0', '255.255.255.255', '224.0.0.1', '198.18.0.1', '192.0.2.1', '240.0.0.1'],
  ...['::1', '::', 'fe80::1', 'fc00::1', 'fd12::1', 'ff02::1', '::ffff:127.0.0.1', '::ffff:8.8.8.8', '::127.0.0.1'],
  ...['64:ff9b::a00:1', '64:ff9b::808:808', '2002:7f00:1::', '2001:db8::1', '2001::1', 'fec0::1'],
]

test.each(PUBLIC)('the address %s is public', (address) => {
  expect(isPrivate(address)).toBe(false)
})

test.each(PRIVATE)('the address %s is private', (address) => {
  expect(isPrivate(address)).toBe(true)
})

/** Resolves every name to these addresses. */
const leadingTo =
  (...addresses: string[]) =>
  async () =>
    addresses
const found = (url: string, allow: string | null, ...addresses: string[]) =>
  addressFor(readHookUrl(url), parseTargets(allow), leadingTo(...addresses))

describe('the address of a delivery', () => {
  test('a delivery connects to the first permitted address of the name', async () => {
    expect(await found('https://example.com/', null, '8.8.8.8')).toBe('8.8.8.8')
    expect(await found('https://example.com/', null, '10.0.0.1', '8.8.8.8')).toBe('8.8.8.8')
  })

  const refused = [
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://0177.0.0.1/',
    'https://[::1]/',
    'https://[::ffff:7f00:1]/',
    'https://[::ffff:169.254.169.254]/latest/meta-data',
    'https://169.254.169.254/latest/meta-data',
    'https://10.0.0.1:8443/',
  ]
  test.each(refused)('a delivery to the URL %s, whose address is private, is refused', async (url) => {
    expect(addressFor(readHookUrl(url), NONE)).rejects.toThrow(/is a private address/)
  })

  test('HOOKS_ALLOW permits a host, an address or a network, also without TLS', async () => {
    expect(await found('http://receiver.internal/', 'Receiver.internal', '10.0.0.1')).toBe('10.0.0.1')
    expect(await found('http://example.com/', '10.0.0.0/8', '10.0.0.1')).toBe('10.0.0.1')
    expect(await found('https://[::1]/', '::1')).toBe('::1')
    expect(found('http://example.com/', '10.0.0.0/8', '11.0.0.1')).rejects.toThrow(/http:\/\/ is refused/)
    expect(found('https://other.internal/', 'receiver.internal', '10.0.0.1')).rejects.toThrow(/private/)
    // A permitted IPv4 address is not permitted inside IPv6.
    expect(found('https://example.com/', '11.0.0.0/8', '::ffff:10.0.0.1')).rejects.toThrow(/private/)
  })

  test('a name without an address is refused', () => {
    expect(found('https://example.com/', null)).rejects.toThrow('the name has no address')
    expect(addressFor(readHookUrl('https://none.invalid/'), NONE)).rejects.toThrow('the name cannot be resolved')
  })
})

describe('the URL of a hook', () => {
  const refused = titled([
    ['ftp://example.com/', 'must begin with https://'],
    ['example.com', 'must be like https://'],
    ['https://user:word@example.com/', 'no user and password'],
    ['https://example.com/#part', 'no part behind #'],
    [`https://example.com/${'a'.repeat(2_000)}`, 'more than 2000 characters'],
    [`https://example.com/${'ü'.repeat(400)}`, 'more than 2000 characters'],
  ])
  test.each(refused)('a hook with the URL %s is refused', (_, url, why) => {
    expect(() => readHookUrl(url)).toThrow(why)
  })
})

test.each(['a b', 'https://x', '10.0.0.0/33', '300.1.1.1', ',', 'a..b'])('HOOKS_ALLOW=%s is refused', (text) => {
  expect(() => parseTargets(text)).toThrow(RangeError)
})
