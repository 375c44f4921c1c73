// API keys as text: generates, recognizes and hashes them, and keeps the development key.
import { randomBytes, randomInt } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'

/**
 * Matches `ApiKey`, in upper or lower case, spaces, and the key. A text that is much longer than a key does not match, so that it
 * is not hashed. Spec 5, rule 1; RFC 9110, 11.1.
 */
const AUTHORIZATION = /^ApiKey +([\x21-\x7e]{1,256})$/i

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** Prefix of every key, by which secret scanners recognize leaked keys. */
const PREFIX = 'roster_'
const ID_LENGTH = 10
/** Number of characters of the secret: with fewer letters and digits it could not have 256 bits. */
const SECRET_LENGTH = 43
const ID_END = PREFIX.length + ID_LENGTH
const LENGTH = ID_END + 1 + SECRET_LENGTH

/** Returns the header in the only spelling that the bearer plugin reads; null if the header has no key. */
export function canonicalAuthorization(header: string): string | null {
  const key = AUTHORIZATION.exec(header)?.[1]
  return key ? `ApiKey ${key}` : null
}

/** Generates a key, `roster_<id>_<secret>`, which matches `roster_[0-9A-Za-z]{10}_[0-9A-Za-z]{43}`. */
export function generateKey(): string {
  return `${PREFIX}${randomText(ID_LENGTH)}_${randomText(SECRET_LENGTH)}`
}

/** Returns the id in a generated key; '' for any other text. */
export function idOf(text: string): string {
  const isOurs = text.length === LENGTH && text[ID_END] === '_' && text.startsWith(PREFIX)
  return isOurs ? text.slice(PREFIX.length, ID_END) : ''
}

/** Returns the SHA-256 of a key, written to the 32 bytes of `into` if the caller gives them. */
export function hashKey(text: string, into: Buffer = Buffer.alloc(32)): Buffer {
  Bun.SHA256.hash(text, into)
  return into
}

function randomText(length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
}

export function developmentKeyFile(dataDir: string): string {
  return resolve(dataDir, 'development.key')
}

/** Returns the development key. It is the same at every start, so that a command copied yesterday works today. */
export function readDevelopmentKey(dataDir: string): string {
  const file = developmentKeyFile(dataDir)
  mkdirSync(dataDir, { recursive: true })
  if (!existsSync(file)) {
    writeFileSync(`${file}.part`, `roster_dev_${randomBytes(24).toString('hex')}`, { mode: 0o600 })
    renameSync(`${file}.part`, file) // so that a crash never leaves half a key
  }
  return readFileSync(file, 'utf8').trim()
}
