import { RedisClient } from 'bun'
import { withDeadline } from '../os/time.ts'
import { clockOff, type Finding, fault, ok } from './finding.ts'

const MS_MAX = 5_000
const VERSION_MIN = 7

/** Checks the store of the limits. The address may have a password, so no error repeats it. */
export async function examineRedis(url: string): Promise<Finding[]> {
  const client = new RedisClient(url, { connectionTimeout: MS_MAX, autoReconnect: false, maxRetries: 0 })
  try {
    const late = () => {
      throw new Error('it does not answer')
    }
    const startMs = Date.now()
    const [seconds, micros] = (await withDeadline(client.send('TIME', []), MS_MAX, late)) as [string, string]
    const endMs = Date.now()
    const info = String(await withDeadline(client.send('INFO', ['server']), MS_MAX, late))
    const [, version = '0'] = /^redis_version:(\S+)/m.exec(info) ?? []
    const [, name = 'Redis'] = /^server_name:(\S+)/m.exec(info) ?? []
    const text = `${name} ${version} answers`
    const clock = clockOff('redis clock', Number(seconds) * 1_000 + Number(micros) / 1_000, startMs, endMs)
    if (Number.parseInt(version, 10) >= VERSION_MIN) return [ok('redis', text), clock]
    return [fault('redis', `${text}: Redis ${VERSION_MIN} or later is needed`), clock]
  } catch (error) {
    const remedy = 'limits would hold per machine; start it, or mend the address'
    return [fault('redis', `RATE_LIMIT_STORE cannot be used (${(error as Error).message}): ${remedy}`)]
  } finally {
    client.close()
  }
}
