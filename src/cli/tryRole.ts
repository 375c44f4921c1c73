// `roster roles try`: says which roles a person has and why, and answers a request by her rights.
import type { Command } from 'commander'
import type { Config } from '../config/config.ts'
import { Database } from '../execute/database.ts'
import { excerpt } from '../model/excerpt.ts'
import { DatabaseQuestions } from '../operations/databaseQuestions.ts'
import { listed } from '../parse/names.ts'
import { loadEntities } from '../registry.ts'
import { Missing } from '../roles/binding.ts'
import { loadRoles } from '../roles/load.ts'
import type { Claims, Explanation, Outline } from '../roles/roles.ts'
import { withKeys } from './openDatabase.ts'
import { print } from './output.ts'
import { CommandError, orUsage } from './run.ts'
import { dataOf, linesOf, readRequest, tryRequest } from './tryRequest.ts'

/** A person to try: the value of the claim by which `me` finds her, and other claims as `name=value`. */
interface Options {
  readonly as?: string
  readonly claim?: readonly string[]
  readonly json?: true
}

/** Prints which roles a person has, and the answer to her request. @throws CommandError */
export async function tryAsPerson(config: Config, text: string, options: Options, command: Command): Promise<void> {
  const target = readRequest(text)
  const entities = await loadEntities(config.entitiesDir)
  const roles = loadRoles(config, entities)
  if (roles === null) throw new CommandError('there are no roles: set ROLES_FILE')
  const claims = orUsage(command, '--claim', () => claimsOf(options, roles.outline))
  const { views } = roles
  await withKeys(config, async (_, url) => {
    const database = new Database({ url, poolSize: 2, prepare: false })
    try {
      const questions = new DatabaseQuestions((statement) => database.read(statement))
      const explained = await roles.explain(claims, questions, config.oidcTrustEmail || countsAsVerified(claims))
      const tried = await tryRequest({ config, entities, views, database, url }, target, explained.rights)
      await print(
        options.json
          ? dataOf(tried, factsOf(explained, roles.outline))
          : `${[...explanationOf(explained, roles.outline), ...(await linesOf(tried))].join('\n')}\n`,
      )
    } finally {
      await database.end()
    }
  })
}

/**
 * Returns the claims of a person from the options. A claim that is given twice becomes a list. @throws Error for an option that
 * is not a claim
 */
function claimsOf({ as, claim = [] }: Options, { ownClaims }: Outline): Claims {
  const given = claim.map(parseClaim)
  if (as !== undefined) given.unshift([ownClaimOf(ownClaims), as])
  if (given.length === 0) throw new Error('Say who it is: --as ann@example.com, or --claim email=ann@example.com.')
  const values = Map.groupBy(given, ([name]) => name)
  return Object.fromEntries(
    [...values].map(([name, all]) => [name, all.length === 1 ? all[0]?.[1] : all.map(([, value]) => value)]),
  )
}

/**
 * Returns whether an e-mail address counts as verified: true if the person has no claim `email_verified`, or the claim is true.
 */
function countsAsVerified({ email_verified = true }: Claims): boolean {
  return email_verified === true
}

/**
 * Returns the name of the claim that `--as` sets: the claim by which `me` finds a row. @throws Error if there is no such claim,
 * or several are possible
 */
function ownClaimOf(own: readonly string[]): string {
  const [name] = own.includes('email') ? ['email'] : own
  if (name === undefined) throw new Error('The roles file finds no row of a person: give her claims by --claim, without --as.')
  if (name !== 'email' && own.length > 1)
    throw new Error(`"me" needs the claims ${own.join(' and ')}: give them by --claim, without --as.`)
  return name
}

/** Parses `groups=hr`. A value that begins with `[` or `{` is JSON. @throws Error */
function parseClaim(text: string): [name: string, value: unknown] {
  const [, name, value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? []
  if (name === undefined) throw new Error(`"${excerpt(text)}" is no claim: write name=value, as groups=hr.`)
  if (name === 'email_verified' && /^(?:true|false)$/.test(value)) return [name, value === 'true']
  if (!/^\s*[[{]/.test(value)) return [name, value]
  try {
    return [name, JSON.parse(value)]
  } catch {
    throw new Error(`The value of ${name} begins like JSON, and is none.`)
  }
}

/** Returns the members that `--json` prints before the members of the answer. */
function factsOf({ own, reason, roles, rights }: Explanation, { ownClaims }: Outline) {
  const told = roles.map(({ name, reason, rights: outcomes }) => {
    const missing = outcomes.flatMap(({ source, result }) =>
      result instanceof Missing ? [{ right: source.right.text, reason: result.reason }] : [],
    )
    return { name, applies: reason === null, reason, missing }
  })
  return { me: own, claims: ownClaims, reason, roles: told, rights: rights.rights.map(({ text }) => text) }
}

/** Returns lines that say who the person is, and which roles she has and lacks. */
function explanationOf(explained: Explanation, outline: Outline): string[] {
  const { me, claims, reason, roles } = factsOf(explained, outline)
  const by = `by the claim${claims.length > 1 ? 's' : ''} ${listed(claims, 'and')}`
  return [
    ...(me === null ? [] : [`me: ${me}, ${by}`]),
    ...(reason === null ? [] : [`no role applies: ${reason}`]),
    ...roles.flatMap(({ name, reason, missing }) => [
      reason === null ? `role ${name}` : `not ${name}: ${reason}`,
      ...missing.map((one) => `  without ${one.right}: ${one.reason}`),
    ]),
  ]
}
