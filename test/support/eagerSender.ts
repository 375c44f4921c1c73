import { HookSender } from '../../src/hooks/sender.ts'
import type { Log } from '../../src/log.ts'
import { parseTargets } from '../../src/model/networks.ts'
import { entities } from './entities.ts'

/** Returns a sender of hooks to this machine. Its pauses are milliseconds, where those of a usual sender are seconds. */
export function eagerSender(databaseUrl: string, log: Log, timeoutMs: number): HookSender {
  return new HookSender(databaseUrl, entities, {
    allowed: parseTargets('127.0.0.1'),
    log,
    backOff: { firstMs: 1, maxMs: 20, parkAfterMs: 3_600_000 },
    pauses: { idleMs: 20, electMs: 20, reloadMs: 20, retryMs: 20 },
    delivery: { timeoutMs },
  })
}
