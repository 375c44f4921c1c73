// Delivery of a webhook: one signed POST to a checked address.
import { createHmac, randomBytes } from 'node:crypto'
import { version } from '../../package.json'
import type { AllowedTargets } from '../model/networks.ts'
import { AddressRefused, addressFor, hostOf, type Resolve } from './address.ts'

export interface Message {
  /** Id of the message, the same in all attempts. */
  readonly id: string
  readonly body: string
}

export interface Outcome {
  readonly isDelivered: boolean
  /** Text for the list of hooks: the status of the response, or the reason why there was no response. */
  readonly status: string
  /** True if the receiver has answered 410, which means that it wants no more deliveries. */
  readonly isGone: boolean
}

export interface DeliveryOptions {
  readonly allowed: AllowedTargets
  readonly timeoutMs: number
  readonly resolve?: Resolve
  /** CA certificates that are trusted in addition to those of the system, in PEM. */
  readonly ca?: string
}

const GONE = 410
const STATUS_LENGTH_MAX = 200

/** Posts a message once. Never rejects: a failure is also an outcome. */
export async function deliver(
  to: { readonly url: string; readonly secret: string },
  message: Message,
  signal: AbortSignal,
  options: DeliveryOptions,
): Promise<Outcome> {
  const ending = AbortSignal.any([signal, AbortSignal.timeout(options.timeoutMs)])
  if (ending.aborted) return failed('cut off')
  // A lookup of a name cannot be aborted, so a delivery that ends does not wait for it.
  const { promise: ended, resolve } = Promise.withResolvers<Outcome>()
  ending.addEventListener('abort', () => resolve(failed(signal.aborted ? 'cut off' : 'timed out')))
  const posted = post(to, message, ending, options)
  return Promise.race([ended, posted.catch((error) => failed(reasonOf(error)))])
}

async function post(
  { url: text, secret }: { readonly url: string; readonly secret: string },
  { id, body }: Message,
  signal: AbortSignal,
  { allowed, resolve, ca }: DeliveryOptions,
): Promise<Outcome> {
  const url = new URL(text)
  const address = await addressFor(url, allowed, resolve)
  signal.throwIfAborted()
  const seconds = Math.floor(Date.now() / 1_000)
  const headers = {
    Host: url.host,
    'Content-Type': 'application/json; charset=utf-8',
    'Accept-Encoding': 'identity',
    'User-Agent': `Roster/${version}`,
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': sign(secret, id, seconds, body),
  }
  // The connection goes to the checked address, but the certificate must be for the name of the host. Connections are not reused,
  // because a second hook can have the same address and a different name.
  const tls = { serverName: hostOf(url), ...(ca === undefined ? {} : { ca }) }
  const target = addressed(url, address)
  const response = await fetch(target, {
    method: 'POST',
    headers,
    body,
    signal,
    redirect: 'manual',
    keepalive: false,
    decompress: false,
    ...(url.protocol === 'https:' ? { tls } : {}),
  } as RequestInit)
  // Only the status counts; the body could have any length.
  await response.body?.cancel().catch(() => undefined)
  const { status } = response
  const isDelivered = status >= 200 && status < 300
  const isRedirect = status >= 300 && status < 400
  return { isDelivered, status: `${status}${isRedirect ? ', which is not followed' : ''}`, isGone: status === GONE }
}

function addressed(url: URL, address: string): string {
  const host = address.includes(':') ? `[${address}]` : address
  return `${url.protocol}//${host}${url.port === '' ? '' : `:${url.port}`}${url.pathname}${url.search}`
}

function failed(status: string): Outcome {
  return { isDelivered: false, status: status.slice(0, STATUS_LENGTH_MAX), isGone: false }
}

/** Returns the reason of an error without the URL, which the messages of `fetch` contain: the query of the URL may be secret. */
function reasonOf(error: Error & { code?: string }): string {
  if (error instanceof AddressRefused) return error.message
  return error.code ? `failed (${error.code})` : 'failed'
}

const PREFIX = 'whsec_'
/** Bytes of a secret; Standard Webhooks allows 24 to 64. */
const SECRET_BYTES = 32

/** Returns a new secret in the form of Standard Webhooks. */
export function makeSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64')
}

/** Returns the value of `webhook-signature`: an HMAC of the id, the time in seconds, and the body byte for byte. */
export function sign(secret: string, id: string, seconds: number, body: string): string {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
  return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`
}
