// `roster keys`: creates, lists, revokes and rotates API keys. It shows a key once; the database gets only the hash.
import { Command, Option } from 'commander'
import { generateKey, hashKey, idOf } from '../admit/apiKey.ts'
import { BOOTSTRAP_NAME } from '../admit/keyring.ts'
import type { Config } from '../config/config.ts'
import type { ListedKey } from '../keys/store.ts'
import { formatRules, parseRules, UNIT_MS } from '../model/limits.ts'
import { formatRights, parseRights } from '../model/rights.ts'
import { loadEntities } from '../registry.ts'
import { withKeys } from './openDatabase.ts'
import { report, reportAll } from './output.ts'
import { addCommand, CommandError, orUsage, parserOf } from './run.ts'

type Common = { name: string; json?: true }
type Create = Common & { rights: string; limits?: string }
type Rotate = Common & { overlap: number }

const NAMED = '--name <name>'
const RIGHTS = '--rights <list>'
const CREATE = '--name ci --rights Companies:read,Absences:write --limits 100/1m'
const ROTATE = '--name ci --overlap 1h'
const KEPT_NOWHERE = 'This is the only time that the key is shown; only its hash is kept.'

export function keysCommand(readSettings: () => Config): Command {
  const keys = new Command('keys').description('Make, list, revoke and rotate the keys that clients call the API with.')

  const named = [NAMED, 'the name of the key', parseName] as const
  addCommand(keys, 'create', 'Make a key, and show it this once, as the last line.', CREATE, [NAMED, RIGHTS])
    .option(NAMED, 'what to call it: 1 to 100 printable characters', parseName)
    .option(RIGHTS, 'what it may do: <entity or *>:<read or write>, comma-separated')
    .option('--limits <list>', "requests per period, instead of the server's: 750/1m,2500/15m", parseLimits)
    .action((options: Create, command) => create(readSettings(), options, command))
  addCommand(keys, 'list', 'List all keys: name, id, rights, limits, when created and last used, state.', '').action(
    async ({ json }: Common) => reportAll(json, await withKeys(readSettings(), (store) => store.list()), 'keys', HEADS, cellsOf),
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
  return keys
}

async function create(config: Config, options: Create, command: Command) {
  const { name, limits = null } = options
  // The two keys would share their Idempotency-Keys.
  if (name === BOOTSTRAP_NAME) throw new CommandError(`${name} is the name of the key of BOOTSTRAP_API_KEY: choose another`)
  const plurals = (await loadEntities(config.entitiesDir)).map(({ plural }) => plural)
  const rights = formatRights(orUsage(command, '--rights', () => parseRights(options.rights, plurals)))
  const { key, id, hash } = newKey()
  await withKeys(config, (store) => store.create({ id, name, hash, rights, addresses: null, limits }), true)
  const made = `Made the key "${name}" (${id}) with the rights ${rights}.\n${KEPT_NOWHERE}\n${key}\n`
  return report(options.json, { name, id, rights, limits, key }, made)
}

async function rotate(config: Config, { name, overlap, json }: Rotate) {
  const { key, id, hash } = newKey()
  const old = await withKeys(config, (store) => store.rotate(name, { id, hash }, overlap))
  const { rights, limits, ...replaced } = old
  const until = old.expires ? `is valid until ${old.expires}` : 'is revoked'
  const rotated = `Rotated "${name}": the new key is ${id}; the old one (${old.id}) ${until}.\n${KEPT_NOWHERE}\n${key}\n`
  return report(json, { name, id, rights, limits, replaced, key }, rotated)
}

function newKey() {
  const key = generateKey()
  return { key, id: idOf(key), hash: hashKey(key).toString('hex') }
}

/** Refuses control and invisible characters, and changes of the direction of text: no two names may look the same. */
const NAME = /^[^\p{C}\p{Zl}\p{Zp}]{1,100}$/u

const parseName = parserOf((text) => {
  const name = text.normalize()
  if (!NAME.test(name) || name.trim() !== name)
    throw new Error('A name has 1 to 100 printable characters, and no space at either end.')
  return name
})

const parseLimits = parserOf((text) => formatRules(parseRules(text)))

const OVERLAP_MEANING = 'how long the old one stays valid: 24h, 30m, 0; up to 30d'
const OVERLAP_MS_MAX = 30 * (UNIT_MS.d as number)

const parseOverlap = parserOf((text) => {
  const [, count, unit] = /^(?:0|([1-9]\d{0,6})([smhd]))$/.exec(text) ?? [null, '', '']
  const overlapMs = text === '0' ? 0 : Number(count) * (UNIT_MS[unit as string] ?? Number.NaN)
  if (!(overlapMs <= OVERLAP_MS_MAX)) throw new Error('An overlap is 0, or like 24h (s, m, h, d), up to 30d.')
  return overlapMs
})

const HEADS = ['NAME', 'ID', 'RIGHTS', 'LIMITS', 'CREATED', 'LAST USED', 'STATE']

function cellsOf({ name, id, rights, limits, created, lastUsed, state, expires, revoked }: ListedKey): string[] {
  const end = [state === 'expiring' ? 'expires' : state, revoked ?? expires].filter(Boolean).join(' ')
  return [name, id, rights, limits ?? 'default', created, lastUsed ?? 'never', end]
}
