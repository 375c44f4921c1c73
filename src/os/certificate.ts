// TLS certificates and private keys: reads their files, and checks that they are valid and belong together.
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** A certificate chain and its private key, as PEM texts. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

const BYTES_MAX = 256 * 1024
/** Maximum size of a file of certificate authorities, in bytes; the files of browsers have 300 KB. */
const AUTHORITIES_BYTES_MAX = 4 * 1024 * 1024

/** Reads both files. @throws Error that names the file which cannot be read */
export function readCertificate(certFile: string, keyFile: string): Certificate {
  return { cert: readPem(`TLS_CERT ${certFile}`, certFile), key: readPem(`TLS_KEY ${keyFile}`, keyFile) }
}

function readPem(what: string, file: string, bytesMax = BYTES_MAX): string {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error(`${what} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
  if (text.length > bytesMax) throw new Error(`${what} has more than ${bytesMax} bytes`)
  return text
}

const BLOCK = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

/**
 * Returns the first certificate of the chain. @throws Error if the certificate or the key is invalid, or they do not belong
 * together
 */
export function checkCertificate({ cert, key }: Certificate): X509Certificate {
  const parsed = new X509Certificate(blocksOf('TLS_CERT', cert)[0] as string)
  const privateKey = parse('TLS_KEY has no private key in PEM without a password', () => createPrivateKey(key))
  if (!parsed.checkPrivateKey(privateKey)) throw new Error('TLS_KEY has another key than the one that TLS_CERT is for')
  return parsed
}

/** Reads the PEM certificates of `sslrootcert`. @throws Error that tells the fault, without the name of the file */
export function readAuthorities(file: string): string {
  const what = 'the file of sslrootcert'
  return blocksOf(what, readPem(what, file, AUTHORITIES_BYTES_MAX)).join('\n')
}

/** Returns the certificates in a text. @throws Error if the text has no certificate, or an invalid one */
function blocksOf(what: string, text: string): string[] {
  const blocks = text.match(BLOCK) ?? []
  if (blocks.length === 0) throw new Error(`${what} has no certificate in PEM`)
  for (const block of blocks) parse(`${what} has a certificate that cannot be read`, () => new X509Certificate(block))
  return blocks
}

function parse<T>(problem: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new Error(`${problem} (${(error as Error).message})`)
  }
}
