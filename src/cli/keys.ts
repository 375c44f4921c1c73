// `roster keys`: creates, changes, lists, revokes, rotates and tries API keys. It shows a key once; the database stores only the
// hash of the key.
import { Command, Option } from 'commander'
import { generateKey, hashKey, idOf } from '../admit/apiKey.ts'
import { BOOTSTRAP_NAME } from '../admit/keyring.ts'
import { PERSON_PREFIX } from '../admit/persons.ts'
import type { Config } from '../config/config.ts'
import type { KeyTerms } from '../keys/store.ts'
import type { StoredRights } from '../model/key.ts'
import { formatRules, parseRules, UNIT_MS } from '../model/limits.ts'
import { suggest } from '../model/nearest.ts'
import { formatRights, parseRights } from '../model/rights.ts'
import { loadEntities } from '../registry.ts'
import { parseRights as parseAddresses } from '../rights/checks.ts'
import { loadRoles } from '../roles/load.ts'
import type { Roles } from '../roles/roles.ts'
import { listKeys } from './listKeys.ts'
import { withKeys } from './openDatabase.ts'
import { report } from './output.ts'
import { addCommand, CommandError, collect, orUsage, parserOf } from './run.ts'

type Common = { name: string; json?: true }
type RightsOptions = { rights?: string; right?: readonly string[]; role?: string }
type Create = Common & RightsOptions & { limits?: string; expires?: number }
type Change = Create
type Rotate = Common & { overlap: number }
type Try = RightsOptions & { name?: string; json?: true }

const NAMED = '--name <name>'
const RIGHTS = '--rights <list>'
const RIGHT = '--right <right>'
const RIGHTS_MEANING = 'what it may do: <entity or *>:<read or write>, comma-separated'
const RIGHT_MEANING =
  "a verb and the address of a list: 'read Absences?Status=Approved&fields=Id,Start'; may be given several times"
const ROLE = '--role <name>'
const ROLE_MEANING = 'the rights of the block "key <name>" in ROLES_FILE, also when it changes'
const EITHER = `(${RIGHTS} | ${RIGHT}... | ${ROLE})`
const CREATE = '--name ci --rights Companies:read,Absences:write --limits 100/1m'
const CHANGE = "--name payroll --right 'read Absences?Status=Approved' --expires 90d"
const ROTATE = '--name ci --overlap 1h'
const TRY = "--name payroll 'GET /Absences?sort=-Start'"
const KEPT_NOWHERE = 'This is the only time that the key is shown; only its hash is kept.'

export function keysCommand(readSettings: () => Config): Command {
  const keys = new Command('keys').description('Make, change, list, revoke and rotate the keys that clients call the API with.')

  const named = [NAMED, 'the name of the key', parseName] as const
  addCommand(keys, 'create', 'Make a key, and show it this once, as the last line.', CREATE, [NAMED])
    .usage(`${NAMED} ${EITHER} [options]`)
    .option(NAMED, 'what to call it: 1 to 100 printable characters', parseName)
    .option(RIGHTS, RIGHTS_MEANING)
    .option(RIGHT, RIGHT_MEANING, collect)
    .option(ROLE, ROLE_MEANING)
    .option('--limits <list>', "requests per period, instead of the server's: 750/1m,2500/15m", parseLimits)
    .option('--expires <time>', 'when it ends by itself: in 14d, 12h or 30m; up to 3650d', parseLifetime)
    .action((options: Create, command) => create(readSettings(), options, command))
  addCommand(keys, 'change', 'Change all valid keys of a name, within a second on every server.', CHANGE, [NAMED])
    .option(...named)
    .option(RIGHTS, 'what they may do from now on, as keys create has it')
    .option(RIGHT, 'a right that they have from now on, instead of all before; may be given several times', collect)
    .option(ROLE, 'the block of ROLES_FILE whose rights they have from now on')
    .option('--limits <list>', "other limits, or default: the server's", parseLimitsOrDefault)
    .option('--expires <time>', 'when they end by themselves: in 14d, 12h or 30m, or never', parseLifetime)
    .action((options: Change, command) => change(readSettings(), options, command))
  addCommand(keys, 'list', 'List all keys: name, id, rights, limits, when created and last used, state.', '').action(
    ({ json }: Common) => listKeys(readSettings(), json),
  )
  addCommand(keys, 'revoke', 'End a key: within a second no server accepts it.', '--name ci', [NAMED])
    .option(...named)
    .action(async ({ name, json }: Common) => {
      const revoked = await withKeys(readSettings(), (store) => store.revoke(name))
      await report(json, { name, revoked }, `Revoked "${name}" (${revoked.join(', ')}).\n`)
    })
  addCommand(keys, 'rotate', 'Replace a key, and show the new one this once, as the last line.', ROTATE, [NAMED])
    .option(...named)
    .addOption(new Option('--overlap <time>', OVERLAP_MEANING).argParser(parseOverlap).default(parseOverlap('24h'), '24h'))
    .action((options: Rotate) => rotate(readSettings(), options))
  addCommand(keys, 'try', 'Show what a request is answered by the rights of a key, or by rights that no key has yet.', TRY)
    .usage(`(${NAMED} | ${RIGHTS} | ${RIGHT}... | ${ROLE}) [options] <request>`)
    .argument('<request>', "the request: 'GET /Absences?sort=-Start'")
    .option(NAMED, 'the key whose rights hold', parseName)
    .option(RIGHTS, 'rights in place of those of a key')
    .option(RIGHT, 'a right in place of those of a key; may be given several times', collect)
    .option(ROLE, 'a block of ROLES_FILE in place of those of a key')
    .action((request: string, options: Try, command) => tryRequest(readSettings(), request, options, command))
  return keys
}

/**
 * Parses and checks the rights of `--rights`, `--right` or `--role`; null if none of these options is given. An error ends the
 * command.
 */
async function readRights(config: Config, given: RightsOptions, command: Command): Promise<StoredRights | null> {
  const { rights, right, role } = given
  const forms = [rights, right, role].filter((form) => form !== undefined)
  if (forms.length > 1) command.error(`error: give one of ${RIGHTS}, ${RIGHT} and ${ROLE}`)
  if (forms.length === 0) return null
  const entities = await loadEntities(config.entitiesDir)
  if (rights !== undefined) {
    const plurals = entities.map(({ plural }) => plural)
    return { rights: formatRights(orUsage(command, '--rights', () => parseRights(rights, plurals))), addresses: null, role: null }
  }
  const roles = loadRoles(config, entities)
  if (role !== undefined) {
    orUsage(command, '--role', () => requireBlock(role, roles))
    return { rights: '', addresses: null, role }
  }
  const addresses = orUsage(command, '--right', () => parseAddresses(right ?? [], entities, roles?.views))
  return { rights: '', addresses: addresses.map(({ text }) => text).join('\n'), role: null }
}

/** Requires that the roles file has a block for keys of this name. @throws Error */
function requireBlock(name: string, roles: Roles | null) {
  if (roles === null) throw new Error('It is the name of a block of the roles file, and ROLES_FILE names none.')
  if (roles.rightsOfKey(name) !== null) return
  const { outline } = roles
  const isRole = outline.roles.some((one) => one.name === name)
  throw new Error(
    isRole
      ? `${name} is a role of persons: write a block "key ${name}" with the rights of the key.`
      : `The roles file has no block "key ${name}".${suggest(
          name,
          outline.keys.map((one) => one.name),
        )}`,
  )
}

async function create(config: Config, options: Create, command: Command) {
  const { name, limits = null, expires = NEVER } = options
  // A key of this name would share its Idempotency-Keys with the key of BOOTSTRAP_API_KEY.
  if (name === BOOTSTRAP_NAME) throw new CommandError(`${name} is the name of the key of BOOTSTRAP_API_KEY: choose another`)
  if (name.startsWith(PERSON_PREFIX))
    throw new CommandError(
      `a name that begins with ${PERSON_PREFIX} could be a person’s, who would share limits and Idempotency-Keys: choose another`,
    )
  const rights = await readRights(config, options, command)
  if (rights === null) return command.error(`error: required option '${RIGHTS}', '${RIGHT}' or '${ROLE}' not specified`)
  const { key, id, hash } = newKey()
  const ends = await withKeys(config, (store) => store.create({ id, name, hash, ...rights, limits }, lifetimeOf(expires)), true)
  const terms = { ...rights, limits, ends }
  return report(
    options.json,
    { name, id, ...dataOf(terms), key },
    `Made the key "${name}" (${id})${inWords(terms)}${KEPT_NOWHERE}\n${key}\n`,
  )
}

async function change(config: Config, options: Change, command: Command) {
  const { name, json } = options
  const limits = options.limits === DEFAULT ? null : options.limits
  const lifetimeMs = options.expires === undefined ? undefined : lifetimeOf(options.expires)
  const rights = (await readRights(config, options, command)) ?? undefined
  if (rights === undefined && limits === undefined && lifetimeMs === undefined)
    return command.error(`error: nothing to change: give ${RIGHT}, ${RIGHTS}, ${ROLE}, --limits or --expires`)
  const changed = await withKeys(config, (store) => store.changeTerms(name, { rights, limits, lifetimeMs }))
  const data = { name, changed: changed.map(({ id, ...terms }) => ({ id, ...dataOf(terms) })) }
  return report(json, data, changed.map((key) => `Changed "${name}" (${key.id})${inWords(key)}`).join(''))
}

async function rotate(config: Config, { name, overlap, json }: Rotate) {
  const { key, id, hash } = newKey()
  const old = await withKeys(config, (store) => store.rotate(name, { id, hash }, overlap))
  const { rights, addresses, role, limits, ends, ...replaced } = old
  const until = old.expires ? `is valid until ${old.expires}` : 'is revoked'
  const rotated = `Rotated "${name}": the new key is ${id}; the old one (${old.id}) ${until}.\n${KEPT_NOWHERE}\n${key}\n`
  return report(json, { name, id, ...dataOf({ rights, addresses, role, limits, ends }), replaced, key }, rotated)
}

async function tryRequest(config: Config, request: string, options: Try, command: Command) {
  const { name, json } = options
  const given = await readRights(config, options, command)
  if ((name === undefined) === (given === null))
    return command.error(`error: give either ${NAMED}, or ${RIGHT}, ${RIGHTS} or ${ROLE}`)
  // Imported here, since the handlers of requests would make other commands start more slowly.
  const { tryAs } = await import('./tryKey.ts')
  return tryAs(config, request, name ?? (given as StoredRights), json)
}

function newKey() {
  const key = generateKey()
  return { key, id: idOf(key), hash: hashKey(key).toString('hex') }
}

/** Returns the terms of a key for `--json`. Rights by row and property are listed one per line, as in `keys list`. */
function dataOf({ rights, addresses, role, limits, ends }: KeyTerms) {
  return { rights: addresses ?? rights, role, limits, ends }
}

/** Returns the terms of a key as the end of a sentence. Rights by row and property follow on separate lines. */
function inWords({ rights, addresses, role, limits, ends }: KeyTerms): string {
  const until = ends === null ? '' : `, valid until ${ends},`
  const own = limits === null ? '' : ` and the limits ${limits}`
  if (role !== null) return `${until} with the rights of "key ${role}" in the roles file${own}.\n`
  if (addresses === null) return `${until} with the rights ${rights}${own}.\n`
  return `${until} with these rights${own}:\n${addresses.replace(/^/gm, '  ')}\n`
}

/**
 * Matches names without control characters, invisible characters and changes of text direction, which can make two names look the
 * same.
 */
const NAME = /^[^\p{C}\p{Zl}\p{Zp}]{1,100}$/u

const parseName = parserOf((text) => {
  const name = text.normalize()
  if (!NAME.test(name) || name.trim() !== name)
    throw new Error('A name has 1 to 100 printable characters, and no space at either end.')
  return name
})

// `NEVER` and `DEFAULT` stand for no value: Commander turns null from a parser into an empty text.
const NEVER = Number.POSITIVE_INFINITY
const DEFAULT = 'default'

function lifetimeOf(expires: number): number | null {
  return expires === NEVER ? null : expires
}

const normalizedRules = (text: string) => formatRules(parseRules(text))
const parseLimits = parserOf(normalizedRules)
const parseLimitsOrDefault = parserOf((text) => (text === DEFAULT ? text : normalizedRules(text)))

const OVERLAP_MEANING = 'how long the old one stays valid: 24h, 30m, 0; up to 30d'
const OVERLAP_MS_MAX = 30 * (UNIT_MS.d as number)

const parseOverlap = parserOf((text) => {
  const overlapMs = text === '0' ? 0 : durationMs(text)
  if (!(overlapMs <= OVERLAP_MS_MAX)) throw new Error('An overlap is 0, or like 24h (s, m, h, d), up to 30d.')
  return overlapMs
})

const LIFETIME_MS_MAX = 3_650 * (UNIT_MS.d as number)

/** Parses the time until a key expires, into ms. */
const parseLifetime = parserOf((text) => {
  if (text === 'never') return NEVER
  const lifetimeMs = durationMs(text)
  if (!(lifetimeMs <= LIFETIME_MS_MAX)) throw new Error('It is a time like 14d (s, m, h, d), up to 3650d, or never.')
  return lifetimeMs
})

/** Returns the ms of a text such as `24h`; NaN for any other text. */
function durationMs(text: string): number {
  const [, count, unit] = /^([1-9]\d{0,6})([smhd])$/.exec(text) ?? []
  return Number(count) * (UNIT_MS[unit ?? ''] ?? Number.NaN)
}
