// Roles and rights in the embedded PostgreSQL.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { withConnection } from '../execute/connect.ts'
import type { Log } from '../log.ts'
import { endOf, type Runner, sharedMemorySettings } from './runner.ts'

/** Role of a connection: `tables` owns only the server's tables, `everything` is the superuser. */
export type Access = 'tables' | 'everything'

/** Names of the server's role, and of the superuser that initdb creates. */
export const ROLES: Readonly<Record<Access, string>> = { tables: 'roster_app', everything: 'roster' }
const { tables: SERVING, everything: SUPERUSER } = ROLES
const DATABASE = 'postgres'

/**
 * Rules of pg_hba.conf, by the role that the server uses. With `tables`, the superuser cannot connect, but roles that an operator
 * has created can connect with a password.
 */
const HBA_RULES: Readonly<Record<Access, string>> = {
  tables: `host ${DATABASE} ${SERVING} 127.0.0.1/32 scram-sha-256
host all,replication ${SERVING},${SUPERUSER} 0.0.0.0/0 reject
host all all 127.0.0.1/32 scram-sha-256
`,
  everything: `host all all 127.0.0.1/32 scram-sha-256
`,
}

/**
 * Returns SQL that restricts the server's role to its tables. The SQL ends the role's memberships in other roles, and revokes the
 * rights that PostgreSQL grants to everyone.
 */
function restrict(password: string): string[] {
  return [
    `do $$ begin if to_regrole('${SERVING}') is null then create role ${SERVING}; end if; end $$`,
    `alter role ${SERVING} login nosuperuser nocreatedb nocreaterole nobypassrls noreplication password '${password}'`,
    `do $$ declare granted regrole; begin
      for granted in select roleid from pg_auth_members where member = '${SERVING}'::regrole loop
        execute format('revoke %s from ${SERVING}', granted);
      end loop; end $$`,
    `revoke all on database ${DATABASE} from ${SERVING}`,
    `revoke create, temporary on database ${DATABASE} from public`,
    'revoke create on schema public from public',
    `grant usage, create on schema public to ${SERVING}`,
    `alter role ${SUPERUSER} password null`,
  ]
}

/**
 * Sets the password of the role of `access`, and writes pg_hba.conf. Does nothing if pg_hba.conf shows that both were done
 * before. Needs no network; the cluster must not be running. @throws Error with the end of PostgreSQL's log
 */
export async function secure(runner: Runner, password: string, access: Access): Promise<void> {
  const file = join(runner.cluster, 'pg_hba.conf')
  // The hash tells whether the rules were written for the current password: if the password file is lost, a new password is made.
  const hbaRules = `# Written by Roster for the password with the hash ${Bun.hash(password).toString(36)}.\n${HBA_RULES[access]}`
  if (readFileSync(file, 'utf8') === hbaRules) return
  const commands = access === 'tables' ? restrict(password) : [`alter role ${SUPERUSER} password '${password}'`]
  // The commands run as the superuser in PostgreSQL's single-user mode, which takes one command per line.
  const settings = ['exit_on_error=on', 'log_min_messages=log', 'log_min_error_statement=panic'].flatMap((own) => ['-c', own])
  const args = ['--single', '-D', runner.cluster, ...sharedMemorySettings(), ...settings, DATABASE]
  const input = commands.map((command) => `${command.replace(/\s+/g, ' ')}\n`).join('')
  const { child, log } = runner.launch('postgres', args, input)
  if ((await endOf(child)) !== 0) throw new Error(`PostgreSQL did not start:\n${log()}`)
  // pg_hba.conf is written last, so that an interrupted run is repeated. It is created outside of the cluster: inside,
  // PostgreSQL's user could have put a link with the file's name there, and `give` would give the linked file to this user.
  const part = `${runner.cluster}.hba.part`
  rmSync(part, { force: true })
  writeFileSync(part, hbaRules, { mode: 0o600, flag: 'wx' })
  runner.give(part)
  renameSync(part, file)
}

/** Logs a warning if the role of `url` is a superuser, which no server needs. */
export async function warnOfSuperuser(url: string, log: Pick<Log, 'warn'>): Promise<void> {
  const [superuser] = await withConnection(
    url,
    (sql) => sql`select current_user::text as role where current_setting('is_superuser') = 'on'`,
  )
  if (superuser) log.warn('the role of DATABASE_URL is a superuser: give it rights on its tables alone', { role: superuser.role })
}
