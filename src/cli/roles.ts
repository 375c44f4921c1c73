// `roster roles`: checks the roles file, and shows what the file lets a person do.
import { Command } from 'commander'
import type { Config } from '../config/config.ts'
import { loadEntities } from '../registry.ts'
import { readRolesText } from '../roles/load.ts'
import { type Outline, parseRoles, RolesError, type RolesFault } from '../roles/roles.ts'
import { counted, report } from './output.ts'
import { addCommand, CommandError, collect } from './run.ts'

type Check = { json?: true }
type Try = { as?: string; claim?: readonly string[]; json?: true }

/** Settings that a check needs. The command works even if another setting is wrong. */
interface Settings {
  readonly entitiesDir: string | null
  readonly rolesFile: string | null
}

const TRY = "--as ann@example.com --claim groups=hr 'GET /Absences?sort=-Start'"

export function rolesCommand(readSettings: () => Config, settings: Settings): Command {
  const roles = new Command('roles').description('Check the roles file, and try what a person may do.')
  addCommand(roles, 'check', 'Name all faults of a roles file, each with its line.', 'roles.txt')
    .usage('[options] [file]')
    .argument('[file]', 'the file; default: that of ROLES_FILE')
    .action((file: string | undefined, { json }: Check) => check(file ?? settings.rolesFile, settings, json))
  addCommand(roles, 'try', 'Show which roles a person has, and what a request of hers is answered.', TRY)
    .usage('--as <name> [options] <request>')
    .argument('<request>', "the request: 'GET /Absences?sort=-Start'")
    .option('--as <name>', 'the claim by which "me" finds the person, such as her e-mail address')
    .option('--claim <name=value>', 'another claim: a text, or JSON that begins with [ or {; given twice it is a list', collect)
    .action(async (request: string, options: Try, command) => {
      // Imported here, since the handlers of requests would make other commands start more slowly.
      const { tryAsPerson } = await import('./tryRole.ts')
      return tryAsPerson(readSettings(), request, options, command)
    })
  return roles
}

/** Result of a check, for `--json`. */
interface Checked extends Omit<Outline, 'ownClaims'> {
  readonly file: string
  readonly faults: readonly RolesFault[]
}

async function check(file: string | null, { entitiesDir }: Settings, json: true | undefined): Promise<void> {
  if (file === null) throw new CommandError('name a file, or set ROLES_FILE')
  const text = readRolesText(file)
  const entities = await loadEntities(entitiesDir)
  try {
    const { me, claims, views, roles, keys } = parseRoles(text, entities).outline
    const checked: Checked = { file, faults: [], me, claims, views, roles, keys }
    return await report(json, checked, summaryOf(checked))
  } catch (error) {
    if (!(error instanceof RolesError)) throw error
    const { faults } = error
    const checked: Checked = { file, faults, me: null, claims: [], views: [], roles: [], keys: [] }
    await report(json, checked, faults.map(({ line, message }) => `line ${line}: ${message}\n`).join(''))
    throw new CommandError(`${file} has ${counted(faults.length, 'fault')}`)
  }
}

function summaryOf({ file, me, claims, views, roles, keys }: Checked): string {
  const isEmpty = views.length + roles.length + keys.length === 0
  const lines = [
    `${file} has no ${isEmpty ? 'roles, views or keys' : 'faults'}.`,
    `me: ${me ?? 'no row is needed'}`,
    ...(claims.length === 0 ? [] : [`claims: ${claims.join(', ')}`]),
    ...views,
    ...roles.map(
      ({ name, when, rights }) => `role ${name}: ${counted(rights.length, 'right')}, ${when ? `when ${when}` : 'everybody'}`,
    ),
    ...keys.map(({ name, rights }) => `key ${name}: ${counted(rights.length, 'right')}`),
  ]
  return `${lines.join('\n')}\n`
}
