// `roster doctor`: examines settings, machine, database and Redis. Each check returns findings.
import { RedisClient } from 'bun'
import { Command } from 'commander'
import { withoutEcho } from '../admit/redis.ts'
import { counted, formatTable, print } from '../cli/output.ts'
import { CommandError } from '../cli/run.ts'
import { type Config, ConfigError } from '../config/config.ts'
import { errorOf } from '../errors.ts'
import { withDeadline } from '../os/time.ts'
import { runningPostgres } from '../postgres/postmaster.ts'
import { DeclarationError, loadEntities } from '../registry.ts'
import { examineDatabase, examinePooled } from './database.ts'
import { clockOff, type Finding, fault, ok } from './finding.ts'
import { examineIssuer } from './issuer.ts'
import { examineMachine } from './machine.ts'
import { examineRoles } from './roles.ts'

/**
 * Command `doctor`: prints a line for each requirement of a server, with advice if it is not met. It changes nothing without
 * `--clean`.
 */
export function doctorCommand(readSettings: () => Config): Command {
  return new Command('doctor')
    .description('Look whether a server can run here: machine, settings, database, Redis; say what to do. Nothing is changed.')
    .option('--json', 'print JSON')
    .option('--clean', 'delete the shared memory of this user’s servers that have ended, whose limits begin anew')
    .addHelpText('after', '\nExample:\n  npm run --silent roster doctor')
    .action(async ({ json, clean = false }: { json?: true; clean?: boolean }) => {
      const findings = await examine(readSettings, clean)
      const cells = findings.map(({ check, state, text }) => [state.toUpperCase(), check, text.replaceAll('\n', ' ')])
      await print(json ? `${JSON.stringify(findings, null, 2)}\n` : formatTable(cells))
      const faults = findings.filter(({ state }) => state === 'fault').length
      if (faults > 0) throw new CommandError(counted(faults, 'fault'))
    })
}

/** Returns all findings, in the order in which they are printed; if settings are wrong, only the findings about settings. */
export async function examine(readSettings: () => Config, isCleaning = false): Promise<Finding[]> {
  let config: Config
  try {
    config = readSettings()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.message.split('\n').map((line) => fault('settings', line))
  }
  const { databaseUrl, databaseDirectUrl, dataDir, rateLimitStore } = config
  const url = databaseDirectUrl ?? databaseUrl ?? runningPostgres(dataDir)
  const setting = databaseDirectUrl === null ? 'DATABASE_URL' : 'DATABASE_DIRECT_URL'
  const { entities, found } = await examineEntities(config)
  const roles = examineRoles(config, entities)
  const [machine, database, pooled, redis, issuer] = await Promise.all([
    examineMachine(config, isCleaning),
    url === null
      ? [ok('database', 'the embedded one does not run: a server starts it')]
      : examineDatabase(url, setting, config, { entities, roles: roles.roles }),
    examinePooled(config),
    rateLimitStore === null ? [] : examineRedis(rateLimitStore),
    examineIssuer(config),
  ])
  return [ok('settings', 'all can be read'), ...found, ...roles.found, ...machine, ...database, ...pooled, ...redis, ...issuer]
}

/** Reads the declarations. `entities`: null if the declarations cannot be read; `found` then says why. */
async function examineEntities({ entitiesDir }: Config) {
  try {
    const entities = await loadEntities(entitiesDir)
    const own = entitiesDir === null ? [] : [ok('entities', entities.map(({ plural }) => plural).join(', '))]
    return { entities, found: own }
  } catch (error) {
    if (!(error instanceof DeclarationError)) throw error
    return { entities: null, found: [fault('entities', error.message)] }
  }
}

const REDIS_MS_MAX = 5_000
const REDIS_MIN = 7

/** Checks the Redis server. No finding repeats its address, which may contain a password. */
async function examineRedis(url: string): Promise<Finding[]> {
  const client = new RedisClient(url, { connectionTimeout: REDIS_MS_MAX, autoReconnect: false, maxRetries: 0 })
  try {
    const late = () => {
      throw new Error('it does not answer')
    }
    const startMs = Date.now()
    const [seconds, micros] = (await withDeadline(client.send('TIME', []), REDIS_MS_MAX, late)) as [string, string]
    const endMs = Date.now()
    const info = String(await withDeadline(client.send('INFO', ['server']), REDIS_MS_MAX, late))
    const [, version = '0'] = /^redis_version:(\S+)/m.exec(info) ?? []
    const [, name = 'Redis'] = /^server_name:(\S+)/m.exec(info) ?? []
    const text = `${name} ${version} answers`
    const clock = clockOff('redis clock', Number(seconds) * 1_000 + Number(micros) / 1_000, startMs, endMs)
    if (Number.parseInt(version, 10) >= REDIS_MIN) return [ok('redis', text), clock]
    return [fault('redis', `${text}: Redis ${REDIS_MIN} or later is needed`), clock]
  } catch (error) {
    const remedy = 'limits would hold per machine; start it, or mend the address'
    return [fault('redis', `RATE_LIMIT_STORE cannot be used (${withoutEcho(errorOf(error).message)}): ${remedy}`)]
  } finally {
    client.close()
  }
}
