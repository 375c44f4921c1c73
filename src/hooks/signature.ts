import { createHmac, randomBytes } from 'node:crypto'

const PREFIX = 'whsec_'
/** Of the 24 to 64 that Standard Webhooks allows. */
const SECRET_BYTES = 32

/** A new secret, as Standard Webhooks writes them. */
export function makeSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64')
}

/** The value of `webhook-signature`: over the id, the time in seconds, and the body to the letter. */
export function sign(secret: string, id: string, seconds: number, body: string): string {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
  return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`
}
