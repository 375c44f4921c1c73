// Documents that an issuer publishes: reads the discovery document and the keys, over HTTP, within bounds of time and size.
// OpenID Connect Discovery 1.0
import type { JSONWebKeySet } from 'jose'
import { errorOf } from '../errors.ts'
import { excerpt } from '../model/excerpt.ts'
import { LOOPBACK } from '../model/networks.ts'
import type { SignInEndpoints } from '../model/signIn.ts'

/** Maximum time to read both documents. */
const READ_MS_MAX = 5_000
/** Maximum bytes of a document. Documents of large providers have some 30 KB. */
const DOCUMENT_BYTES_MAX = 512 * 1024
const KEYS_MAX = 100

/** Matches the advice at the end of error messages of Bun's fetch. The advice does not help operators. */
const BUN_ADVICE = / For more information, pass .*/

/** Matches signature algorithms that use public keys. A token with an HMAC, or without a signature, is never accepted. */
const ASYMMETRIC = /^(?:(?:RS|PS|ES)(?:256|384|512)|EdDSA|Ed25519)$/
/** The algorithm that every issuer must support. OpenID Connect Core 1.0, 15.1 */
const DEFAULT_ALGORITHM = 'RS256'

/** Maximum characters of an endpoint's address. */
const ENDPOINT_LENGTH_MAX = 500
/**
 * Matches hosts that a content security policy can name. URLs also allow `;`, `,`, `*` and quotes in hosts, but these characters
 * have a meaning in a policy.
 */
const PLAIN_HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])$/

export interface Published {
  readonly keys: JSONWebKeySet
  readonly algorithms: readonly string[]
  /** Addresses for signing people in, or a text that says why they cannot be used. */
  readonly endpoints: SignInEndpoints | string
}

/** Thrown if the documents of an issuer cannot be read, or are not valid. The message is for an operator. */
export class IssuerError extends Error {}

/**
 * Reads an issuer's discovery document, and its keys from the address that the document names, within `msMax`. @throws
 * IssuerError
 */
export async function readPublished(issuer: string, msMax: number = READ_MS_MAX): Promise<Published> {
  const signal = AbortSignal.timeout(msMax)
  const document = await readDocument(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, signal)
  const { issuer: named, jwks_uri: keysUrl, id_token_signing_alg_values_supported: listed = [DEFAULT_ALGORITHM] } = document
  if (named !== issuer) throw new IssuerError(`it names itself ${shown(named)}: OIDC_ISSUER must be the same text`)
  if (typeof keysUrl !== 'string' || !isSafeUrl(keysUrl, issuer))
    throw new IssuerError(`its jwks_uri must be an https address, and is ${shown(keysUrl)}`)
  const algorithms = Array.isArray(listed) ? listed.filter((name) => ASYMMETRIC.test(name)) : []
  if (algorithms.length === 0)
    throw new IssuerError('it signs by no algorithm with public keys (id_token_signing_alg_values_supported)')
  const { keys } = await readDocument(keysUrl, signal)
  if (!Array.isArray(keys) || keys.length === 0) throw new IssuerError('it publishes no keys')
  if (keys.length > KEYS_MAX) throw new IssuerError(`it publishes more than ${KEYS_MAX} keys`)
  return { keys: { keys }, algorithms, endpoints: endpointsOf(document, algorithms, issuer) }
}

/**
 * Returns the addresses for signing people in, or a text that says what is wrong with them. Tokens are accepted in both cases.
 */
function endpointsOf(document: Record<string, unknown>, algorithms: readonly string[], issuer: string): SignInEndpoints | string {
  const {
    authorization_endpoint: authorization,
    token_endpoint: token,
    end_session_endpoint: endSession = null,
    authorization_response_iss_parameter_supported: namesItself,
  } = document
  const given = { authorization_endpoint: authorization, token_endpoint: token, end_session_endpoint: endSession }
  for (const [name, address] of Object.entries(given)) {
    const isOptional = name === 'end_session_endpoint' && address === null
    if (!isOptional && !isSafeEndpoint(address, issuer))
      return `its ${name} must be an https address that a page can open, and is ${shown(address)}`
  }
  return {
    authorization: authorization as string,
    token: token as string,
    endSession: endSession as string | null,
    namesItself: namesItself === true,
    algorithms,
  }
}

/**
 * Returns whether it is safe that a page opens an address, and that a content security policy names its origin. RFC 6749, 3.1 and
 * 3.2
 */
function isSafeEndpoint(address: unknown, issuer: string): boolean {
  if (typeof address !== 'string' || address.length > ENDPOINT_LENGTH_MAX || !isSafeUrl(address, issuer)) return false
  const { hostname, username, password } = new URL(address)
  return PLAIN_HOST.test(hostname) && username === '' && password === '' && !address.includes('#')
}

function shown(value: unknown): string {
  return excerpt(JSON.stringify(value) ?? 'nothing')
}

/** Returns whether the server may trust an address: keys that arrive in clear text could be anybody's. */
function isSafeUrl(text: string, issuer: string): boolean {
  const { protocol, hostname = '' } = URL.parse(text) ?? {}
  return protocol === 'https:' || (protocol === 'http:' && issuer.startsWith('http:') && LOOPBACK.test(hostname))
}

/** Reads a JSON object, of a bounded size, and follows no redirect. @throws IssuerError */
async function readDocument(url: string, signal: AbortSignal): Promise<Record<string, unknown>> {
  try {
    // Decompression is off, because a few bytes could become any number of bytes.
    const options = { redirect: 'manual', decompress: false, signal } as const
    const response = await fetch(url, { ...options, headers: { Accept: 'application/json', 'Accept-Encoding': 'identity' } })
    if (response.status !== 200) {
      await response.body?.cancel()
      throw new Error(`the status is ${response.status}`)
    }
    const read: unknown = JSON.parse(await readText(response))
    if (typeof read !== 'object' || read === null || Array.isArray(read)) throw new Error('it is no JSON object')
    return read as Record<string, unknown>
  } catch (error) {
    const reason = signal.aborted ? 'no whole answer in time' : errorOf(error).message.replace(BUN_ADVICE, '')
    throw new IssuerError(`${url} cannot be read: ${reason}`, { cause: error })
  }
}

async function readText({ body }: Response): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of body ?? []) {
    bytes += piece.byteLength
    // Leaving the loop cancels the body.
    if (bytes > DOCUMENT_BYTES_MAX) throw new Error(`it has more than ${DOCUMENT_BYTES_MAX / 1_024} KiB`)
    pieces.push(piece)
  }
  return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(pieces))
}
