import { describe, expect, onTestFinished, test } from 'bun:test'
import { Admission } from '../../src/admit/admission.ts'
import { KeyRefresh } from '../../src/admit/keyRefresh.ts'
import { Keyring } from '../../src/admit/keyring.ts'
import { Limiters } from '../../src/admit/limiter.ts'
import { LimiterFiles } from '../../src/admit/limiterFiles.ts'
import { PERSON_PREFIX, Persons } from '../../src/admit/persons.ts'
import { keyChecks } from '../../src/http/authentication.ts'
import type { KeySource } from '../../src/model/key.ts'
import { parseRules } from '../../src/model/limits.ts'
import type { Principal } from '../../src/model/principal.ts'
import type { Claims } from '../../src/model/token.ts'
import { TokenVerifier } from '../../src/tokens/verifier.ts'
import { AUDIENCE } from '../support/issuer.ts'
import { makeSigningKey, type PlainIssuer, startPlainIssuer } from '../support/plainIssuer.ts'
import { temporaryFolder } from '../support/process.ts'
import { wholeRights } from '../support/rights.ts'

const SETTINGS = {
  rateLimits: parseRules('9/1h'),
  rateLimitsAnonymous: parseRules('9/1h'),
  rateLimitClients: 3,
  rateLimitsPersons: parseRules('4/1h'),
  oidcIssuer: 'set',
}
const RIGHTS = wholeRights()
const ADDRESS = '203.0.113.1'
/** A database without keys. */
const NO_KEYS: KeySource = { version: async () => '1', current: async () => [], isAway: () => false }

interface Options {
  readonly secret?: string | null
  readonly trustsEmail?: boolean
}

/** The admission of a worker; `asked`: claims of which rights were asked, and whether their e-mail counted. */
function workerOf(issuer: PlainIssuer, { secret = 'secret', trustsEmail = false }: Options = {}) {
  const asked: [Claims, boolean][] = []
  const tokens = new TokenVerifier({ issuer: issuer.url, audience: AUDIENCE, onOutage: () => undefined })
  tokens.start()
  onTestFinished(() => tokens.stop())
  const rightsOf = (claims: Claims, isEmailVerified: boolean) => {
    asked.push([claims, isEmailVerified])
    return { rights: RIGHTS, moment: null }
  }
  const persons = new Persons(tokens, { secret, trustsEmail, rightsOf })
  const files = new LimiterFiles(temporaryFolder().path, SETTINGS)
  const limiters = new Limiters(
    SETTINGS,
    files.ensure(null, () => undefined),
    null,
  )
  const refresh = new KeyRefresh(NO_KEYS, { onKeys: async () => true, onError: () => undefined, onBack: () => undefined })
  const admission = new Admission(new Keyring(null, () => RIGHTS), limiters, null, refresh, persons)
  const admit = async (token: string) => {
    const { principal, isConfirmed } = await admission.admit({ kind: 'token', text: token }, ADDRESS)
    return principal ?? (isConfirmed ? 401 : 503)
  }
  return { admission, persons, admit, asked }
}

const nowS = () => Math.floor(Date.now() / 1_000)
const requestWith = (token: string) => new Request('http://localhost', { headers: { authorization: `Bearer ${token}` } })

describe('D97: a long request whose token', () => {
  test('is valid gets the rights of its person, and is charged to her', async () => {
    const issuer = startPlainIssuer()
    const { admission, asked } = workerOf(issuer)
    const keys = keyChecks(admission)
    const request = requestWith(issuer.token({ groups: ['hr'] }))
    expect(await keys.rightsOf(request)).toBe(RIGHTS)
    for (let charged = 0; charged < 4; charged++) await keys.charge(request)
    expect(asked.every(([{ groups }]) => JSON.stringify(groups) === '["hr"]')).toBe(true)
    await expect(keys.charge(request)).rejects.toMatchObject({ code: 'RateLimitExceeded' })
  })

  test('ends meanwhile gets 401, and the message says when the token ended', async () => {
    const issuer = startPlainIssuer()
    const keys = keyChecks(workerOf(issuer).admission)
    const request = requestWith(issuer.token({ exp: nowS() - 57 }))
    await keys.rightsOf(request)
    const refused = async () =>
      keys.rightsOf(request).then(
        () => null,
        (error) => error,
      )
    let error = await refused()
    while (error === null) error = await Bun.sleep(10).then(refused)
    expect(error).toMatchObject({ code: 'Unauthorized', message: expect.stringContaining('The token ended at ') })
    await expect(keys.charge(request)).rejects.toMatchObject({ code: 'Unauthorized' })
  })

  test('was signed with a key that the issuer has withdrawn gets 401', async () => {
    const issuer = startPlainIssuer()
    const { admission } = workerOf(issuer)
    const keys = keyChecks(admission)
    const request = requestWith(issuer.token())
    await keys.rightsOf(request)
    issuer.rotateKeys()
    await keys.rightsOf(requestWith(issuer.token()))
    await expect(keys.rightsOf(request)).rejects.toMatchObject({ code: 'Unauthorized' })
  })

  test('cannot be verified while the issuer answers 500 for its keys gets 503', async () => {
    const issuer = startPlainIssuer()
    issuer.onKeys = () => new Response(null, { status: 500 })
    const keys = keyChecks(workerOf(issuer).admission)
    await expect(keys.rightsOf(requestWith(issuer.token()))).rejects.toMatchObject({ code: 'ServiceUnavailable' })
  })
})

describe('D99: a person', () => {
  test('has an id and a name that depend only on issuer, sub and the secret of the database', async () => {
    const [issuer, other] = [startPlainIssuer(), startPlainIssuer()]
    const worker = workerOf(issuer)
    const { id, name, isPerson, ownTable } = (await worker.admit(issuer.token())) as Principal
    expect(id).toMatch(/^person-[\w-]{22}$/)
    expect([name, isPerson, ownTable]).toEqual([id, true, null])
    expect(await worker.admit(issuer.token({ email: 'ann@example.com', groups: ['hr'] }))).toMatchObject({ id })
    expect(await workerOf(issuer).admit(issuer.token())).toMatchObject({ id })
    const others = [
      await worker.admit(issuer.token({ sub: 'Ann' })),
      await worker.admit(issuer.token({ sub: 'ann ' })),
      await workerOf(other).admit(other.token()),
      await workerOf(issuer, { secret: 'another' }).admit(issuer.token()),
    ]
    const names = [id, ...others.map((one) => (one as { id: string }).id)]
    expect(new Set(names).size).toBe(5)
    expect(names.every((one) => one.startsWith(PERSON_PREFIX))).toBe(true)
  })

  test('gets 503 until the secret of the database is known, and nothing is charged', async () => {
    const issuer = startPlainIssuer()
    const worker = workerOf(issuer, { secret: null })
    expect(await worker.admit(issuer.token())).toBe(503)
    worker.persons.begin('secret')
    expect(await worker.admit(issuer.token())).toMatchObject({ isPerson: true })
    expect(await worker.admission.charge(null, ADDRESS)).toMatchObject({ remaining: '8' })
  })

  test.each([
    ['true', true, false, true],
    ['false', false, false, false],
    ['missing', undefined, false, false],
    ['a text', 'true', false, false],
    ['the number 1', 1, false, false],
    ['missing, where OIDC_TRUST_EMAIL is 1', undefined, true, true],
    ['false, where OIDC_TRUST_EMAIL is 1', false, true, true],
  ] as const)(
    'whose email_verified is %s has an e-mail address that counts only if it is verified or trusted',
    async (_, verified, trustsEmail, counts) => {
      const issuer = startPlainIssuer()
      const worker = workerOf(issuer, { trustsEmail })
      const person = await worker.admit(issuer.token({ email: 'ann@example.com', email_verified: verified }))
      if (typeof person === 'number') throw new Error(String(person))
      await person.rightsNow()
      expect(worker.asked).toEqual([[expect.objectContaining({ email: 'ann@example.com' }), counts]])
    },
  )

  test('whose token is forged gets 401', async () => {
    const issuer = startPlainIssuer()
    expect(await workerOf(issuer).admit(issuer.token({}, {}, makeSigningKey()))).toBe(401)
  })
})
