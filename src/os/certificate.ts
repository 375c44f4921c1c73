import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** A certificate, those that vouch for it behind it, and its private key, as PEM texts. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

const BYTES_MAX = 256 * 1024

/** Both files as they are now. @throws Error that says which cannot be read */
export function readCertificate(certFile: string, keyFile: string): Certificate {
  return { cert: readPem('TLS_CERT', certFile), key: readPem('TLS_KEY', keyFile) }
}

function readPem(setting: string, file: string): string {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error(`${setting} ${file} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
  if (text.length > BYTES_MAX) throw new Error(`${setting} ${file} has more than ${BYTES_MAX} bytes`)
  return text
}

const BLOCK = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

/** Parses a certificate. @throws Error if the two are invalid, or do not belong together */
export function checkCertificate({ cert, key }: Certificate): X509Certificate {
  const [own, ...others] = cert.match(BLOCK) ?? []
  if (own === undefined) throw new Error('TLS_CERT has no certificate in PEM')
  const parsed = parse('TLS_CERT has a certificate that cannot be read', () => new X509Certificate(own))
  for (const other of others) parse('TLS_CERT has a certificate that cannot be read', () => new X509Certificate(other))
  const privateKey = parse('TLS_KEY has no private key in PEM without a password', () => createPrivateKey(key))
  if (!parsed.checkPrivateKey(privateKey)) throw new Error('TLS_KEY has another key than the one that TLS_CERT is for')
  return parsed
}

/**
 * The certificates in PEM of the file that `sslrootcert` names, which is not repeated. @throws Error that says what is wrong
 * with it
 */
export function readAuthorities(file: string): string {
  const what = 'the file of sslrootcert'
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error(`${what} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
  const blocks = text.slice(0, BYTES_MAX).match(BLOCK) ?? []
  if (blocks.length === 0) throw new Error(`${what} has no certificate in PEM`)
  for (const block of blocks) parse(`${what} has a certificate that cannot be read`, () => new X509Certificate(block))
  return blocks.join('\n')
}

function parse<T>(problem: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new Error(`${problem} (${(error as Error).message})`)
  }
}

/** Days until it ends, below 0 once it has. */
export function daysLeft({ validTo }: X509Certificate, nowMs = Date.now()): number {
  return (Date.parse(validTo) - nowMs) / 86_400_000
}
