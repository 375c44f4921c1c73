// Persons for the bench: an issuer of their tokens, their roles and rows, and as many keys with the same kind of rights.
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import type { Client } from './clients.ts'

/** Maximum number of persons, who send requests in turn. */
export const PERSONS_MAX = 5_000
const FIELDS = 'Id,EmployeeId,Start,End,Period'
const AUDIENCE = 'https://bench.example'
const TOKEN_SECONDS = 86_400

/**
 * Roles with which a person reads the same absences as a key of `clientOfPersons`. Each request also looks whether the person has
 * reports.
 */
const ROLES = `
me Employees?WorkEmail={email}

role employee
  read Absences?EmployeeId={me.Id}&fields=${FIELDS}

role manager when Employees?ManagerId={me.Id}
  read Employees?ManagerId={me.Id}&fields=Id,DisplayName
`

/** Returns keys that read absences: the key with number n reads the absences of the employee with id n. */
export function clientOfPersons(keys: number): Client {
  return { name: 'people', keys, rights: (number) => [`read Absences?EmployeeId=${number}&fields=${FIELDS}`] }
}

/** Returns the query with which a key with all rights reads the same as the person with this number. */
export function filtersOfPerson(number: string): string {
  return `EmployeeId=${number}&fields=${FIELDS}`
}

export interface Issuer {
  /** Settings of a server for these persons. Its limits are higher than any load. */
  readonly settings: Readonly<Record<string, string>>
  /** One token for each person, in the order of the employees' ids, from 1. */
  readonly tokens: readonly string[]
  /** Signs new tokens of the persons. */
  renew(): readonly string[]
  stop(): void
}

/** Starts an issuer, and signs a token for each person. `roles`: the roles file. */
export function openIssuer(persons: number, roles = ROLES): Issuer {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const keys = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'bench', alg: 'RS256', use: 'sig' }] }
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch({ url }) {
      const issuer = new URL(url).origin
      if (url.endsWith('/keys')) return Response.json(keys)
      return Response.json({ issuer, jwks_uri: `${issuer}/keys`, id_token_signing_alg_values_supported: ['RS256'] })
    },
  })
  const issuer = `http://127.0.0.1:${server.port}`
  const renew = () => Array.from({ length: persons }, (_, index) => tokenFor(privateKey, issuer, index + 1))
  const folder = mkdtempSync(join(tmpdir(), 'roster-bench-roles-'))
  const file = join(folder, 'roles')
  writeFileSync(file, roles)
  return {
    settings: {
      OIDC_ISSUER: issuer,
      OIDC_AUDIENCE: AUDIENCE,
      ROLES_FILE: file,
      RATE_LIMITS_PERSONS: '1000/1s,1000/2s,1000/3s',
      RATE_LIMIT_CLIENTS: String(2 * PERSONS_MAX),
    },
    tokens: renew(),
    renew,
    stop() {
      server.stop(true)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Returns a token with the claims that providers usually include. */
function tokenFor(key: KeyObject, iss: string, number: number): string {
  const nowS = Math.floor(Date.now() / 1_000)
  const claims = {
    iss,
    aud: AUDIENCE,
    sub: `00u${number}abcdefghijklmnop`,
    jti: crypto.randomUUID(),
    iat: nowS,
    nbf: nowS,
    exp: nowS + TOKEN_SECONDS,
    email: emailOf(number),
    email_verified: true,
    name: `Person ${number}`,
    groups: ['everyone', 'staff'],
  }
  const parts = [{ alg: 'RS256', typ: 'at+jwt', kid: 'bench' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  )
  const text = parts.join('.')
  return `${text}.${sign('RSA-SHA256', Buffer.from(text), key).toString('base64url')}`
}

function emailOf(number: number | string): string {
  return `person${number}@bench.example`
}

/** Sets the employees' e-mail addresses to those of the tokens; `restore` undoes this. */
export async function addAddresses(url: string, persons: number): Promise<void> {
  const sql = postgres(url, { max: 1 })
  await sql`update employee set work_email = 'person' || id || '@bench.example' where id <= ${persons}`
  await sql.end()
}
