// `roster hooks`: adds, lists, removes, pauses and resumes webhooks in the database. Servers deliver them.
import { Command } from 'commander'
import type { Config } from '../config/config.ts'
import { AddressRefused, addressFor, readHookUrl } from '../hooks/address.ts'
import { makeSecret } from '../hooks/delivery.ts'
import { parseEvents } from '../hooks/events.ts'
import { parseHookRights, requireSameEntities } from '../hooks/rights.ts'
import { type ListedHook, WAITING_MAX } from '../hooks/store.ts'
import { parseTargets } from '../model/networks.ts'
import { loadEntities } from '../registry.ts'
import { withHooks } from './openDatabase.ts'
import { report, reportAll } from './output.ts'
import { addCommand, CommandError, collect, orUsage, parserOf } from './run.ts'

type Common = { json?: true }
type Add = Common & { url: URL; entity?: readonly string[]; right?: readonly string[] }

const URL_FLAGS = '--url <address>'
const ENTITY_FLAGS = '--entity <events>'
const RIGHT_FLAGS = '--right <right>'
const EXAMPLE = '--url https://receiver.example.com/roster --entity Employees:update'
const CHANGES = [
  ['remove', 'Post no more, and forget the hook.', 'Removed'],
  ['pause', 'Post nothing until it is resumed; changes wait for as long as they are kept.', 'Paused'],
] as const
const SHOWN_ONCE = 'This is the only time that the secret is shown: the receiver checks signatures with it.'

export function hooksCommand(readSettings: () => Config): Command {
  const hooks = new Command('hooks').description('Have what changes posted to addresses, as signed webhooks.')
  addCommand(hooks, 'add', 'Post what changes from now on, and show the secret this once, as the last line.', EXAMPLE, [
    URL_FLAGS,
  ])
    .usage(`${URL_FLAGS} (${ENTITY_FLAGS} | ${RIGHT_FLAGS})... [options]`)
    .option(URL_FLAGS, 'where to: https://receiver.example.com/path', parserOf(readHookUrl))
    .option(ENTITY_FLAGS, 'Employees:update,delete, or Employees, or *; may be given several times', collect)
    .option(RIGHT_FLAGS, "'read Employees?fields=Id,JobTitle': show no other properties; one for each entity", collect)
    .action((options: Add, command) => add(readSettings(), options, command))
  addCommand(hooks, 'list', 'List all hooks: address, events, state, last answer, how many changes wait.', '').action(
    async ({ json }: Common) =>
      reportAll(json, await withHooks(readSettings(), (store) => store.list()), 'hooks', HEADS, cellsOf),
  )
  for (const [name, description, done] of CHANGES)
    addCommand(hooks, name, description, '<id>')
      .argument('<id>', 'the id of the hook')
      .action(async (id: string, { json }: Common) => {
        await withHooks(readSettings(), (store) => store[name](id))
        await report(json, { id }, `${done} the hook ${id}.\n`)
      })
  addCommand(hooks, 'resume', 'Post again, at once, from where it is: a hook that is paused, parked, or fails.', '<id> --skip')
    .argument('<id>', 'the id of the hook')
    .option('--skip', 'leave out the first change that waits, which its receiver cannot take')
    .action(async (id: string, { skip = false, json }: Common & { skip?: boolean }) => {
      const isMissing = await withHooks(readSettings(), (store) => store.resume(id, skip))
      const missing = isMissing ? 'Changes may be missing: it goes on with the first one that is kept.\n' : ''
      await report(json, { id, isMissing }, `Resumed the hook ${id}.\n${missing}`)
    })
  return hooks
}

async function add(config: Config, { url, entity, right, json }: Add, command: Command) {
  const entities = await loadEntities(config.entitiesDir)
  if (entity === undefined && right === undefined)
    command.error(`error: required option '${ENTITY_FLAGS}' or '${RIGHT_FLAGS}' not specified`)
  const rights = right === undefined ? null : orUsage(command, '--right', () => parseHookRights(right, entities))
  const events = orUsage(command, '--entity', () => {
    const texts = entity ?? rights?.map((one) => one.collection.plural) ?? []
    const parsed = parseEvents(
      texts,
      entities.map(({ plural }) => plural),
    )
    if (rights) requireSameEntities(parsed, rights, entities)
    return parsed
  })
  await addressFor(url, parseTargets(config.hooksAllow)).catch((error) => {
    throw error instanceof AddressRefused ? new CommandError(`${url.host}: ${error.message}`) : error
  })
  const secret = makeSecret()
  const stored = rights?.map(({ text }) => text).join('\n') ?? null
  const hook = { url: url.href, secret, events, rights: stored }
  const id = await withHooks(config, (store) => store.add(hook), true)
  const shown = stored === null ? '' : ` It shows what a key may see with the rights ${inOneLine(stored)}.`
  const made = `Made the hook ${id} for ${events.join(', ')}.${shown}\n${SHOWN_ONCE}\n${secret}\n`
  return report(json, { id, url: url.href, events, rights: stored, secret }, made)
}

const HEADS = ['ID', 'ADDRESS', 'EVENTS', 'STATE', 'LAST ANSWER', 'WAITING', 'RIGHTS']

function cellsOf({ id, url, events, rights, lastStatus, lastAttempt, waiting, ...rest }: ListedHook): string[] {
  const answer = lastAttempt === null ? 'none yet' : `${lastStatus} (${lastAttempt})`
  const count = waiting === WAITING_MAX ? `${waiting} or more` : String(waiting ?? '?')
  return [id, shownUrl(url), briefly(events), stateOf(rest), answer, count, inOneLine(rights ?? '')]
}

/** Joins rights that are stored one per line into a single line. */
function inOneLine(rights: string): string {
  return rights.replaceAll('\n', '; ')
}

function stateOf({ state, since, reason, nextAttempt }: Pick<ListedHook, 'state' | 'since' | 'reason' | 'nextAttempt'>) {
  if (state === 'active') return 'active'
  const more = state === 'failing' ? `, next attempt ${nextAttempt}` : reason === null ? '' : `: ${reason}`
  return `${state} since ${since}${more}`
}

/** Returns the URL without its query: the query can contain a secret, and other people may see the screen. */
function shownUrl(text: string): string {
  // An operator can insert a row by SQL, with an invalid URL.
  if (!URL.canParse(text)) return 'no URL'
  const { origin, pathname, search } = new URL(text)
  return `${origin}${pathname}${search === '' ? '' : '?...'}`
}

/** Returns the events of a hook as text: `Employees:create,update Absences:delete`. */
function briefly(events: readonly string[]): string {
  const byEntity = Map.groupBy(events, (event) => event.split(':')[0])
  return [...byEntity].map(([name, own]) => own.join().replaceAll(`,${name}:`, ',')).join(' ')
}
