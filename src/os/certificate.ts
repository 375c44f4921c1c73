import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'

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

/** What the certificate says of itself. @throws Error where the two are none, or do not belong together */
export function checkCertificate({ cert, key }: Certificate): X509Certificate {
  const parsed = parse('TLS_CERT has no certificate in PEM', () => new X509Certificate(cert))
  parse('TLS_KEY has no private key in PEM, without a password, that belongs to TLS_CERT', () =>
    createSecureContext({ cert, key }),
  )
  return parsed
}

function parse<T>(problem: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new Error(`${problem}: ${(error as Error).message}`)
  }
}

/** Days until it ends, below 0 once it has. */
export function daysLeft({ validTo }: X509Certificate, nowMs = Date.now()): number {
  return (Date.parse(validTo) - nowMs) / 86_400_000
}
