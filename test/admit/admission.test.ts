import { afterAll, describe, expect, test } from 'bun:test'
import { Admission } from '../../src/admit/admission.ts'
import { Keyring } from '../../src/admit/keyring.ts'
import { LimiterFiles } from '../../src/admit/limiterFiles.ts'
import { Limiters } from '../../src/admit/limiters.ts'
import { parseRules } from '../../src/model/limits.ts'
import { parseNetworks } from '../../src/model/targets.ts'
import { temporaryFolder } from '../support/process.ts'
import { makeKey } from '../support/server.ts'

const SETTINGS = { limits: parseRules('9/1h'), anonymousLimits: parseRules('50/2h'), clients: 3 }
const folder = temporaryFolder()
const memory = new LimiterFiles(folder.path, SETTINGS).ensure(null, () => undefined)
afterAll(() => folder.remove())

const key = makeKey()
const limiters = new Limiters(SETTINGS, memory, null)
const keyring = new Keyring([key.record], [])
const open = new Admission(keyring, limiters, null)
const behindProxy = new Admission(keyring, limiters, parseNetworks('10.0.0.0/8'))

/** A server whose peer has this address. */
const from = (address: string | null) => ({ requestIP: () => (address === null ? null : { address }) })
const request = (forwardedFor?: string) =>
  new Request('http://api.example/', forwardedFor === undefined ? {} : { headers: { 'x-forwarded-for': forwardedFor } })

/** How many requests are left after this one. */
async function left(admission: Admission, peer: string | null, forwardedFor?: string): Promise<number> {
  return Number((await admission.charge(null, admission.addressOf(request(forwardedFor), from(peer)))).remaining)
}

describe('D35: a request without a valid key is charged to', () => {
  test('the address of its peer', async () => {
    expect([await left(open, '192.0.2.1'), await left(open, '192.0.2.1'), await left(open, '192.0.2.2')]).toEqual([
      ...[49, 48, 49],
    ])
  })

  test('its peer and no other client when no proxy is trusted', async () => {
    expect([await left(open, '192.0.2.3', '198.51.100.3'), await left(open, '192.0.2.3', '198.51.100.4')]).toEqual([49, 48])
    expect(await left(open, '198.51.100.3')).toBe(49)
  })

  test('the address that a trusted proxy names', async () => {
    expect(await left(behindProxy, '10.0.0.1', '192.0.2.66, 192.0.2.4')).toBe(49)
    expect(await left(behindProxy, '10.9.9.9', '192.0.2.4')).toBe(48)
    expect(await left(open, '192.0.2.4')).toBe(47)
    expect(await left(open, '10.0.0.1')).toBe(49)
  })

  test('a peer that is no trusted proxy, whatever it names', async () => {
    expect([await left(behindProxy, '192.0.2.5', '192.0.2.6'), await left(open, '192.0.2.5')]).toEqual([49, 48])
  })

  test('one client for all whose peer is not known', async () => {
    expect([await left(open, null), await left(behindProxy, null, '192.0.2.7')]).toEqual([49, 48])
    expect(Number((await open.charge(null, open.addressOf(request(), null))).remaining)).toBe(47)
  })
})

test('a request with a valid key is charged to the key, not to the address', async () => {
  const found = open.keyOf(key.text)
  expect(found?.id).toBe(key.record.id)
  const status = await open.charge(found, '192.0.2.9')
  expect([status.rule.limit, status.remaining]).toEqual([9, '8'])
  expect(await left(open, '192.0.2.9')).toBe(49)
})

test('no text and a wrong one are no key', () => {
  expect([open.keyOf(undefined), open.keyOf(''), open.keyOf(makeKey().text)]).toEqual([null, null, null])
})
