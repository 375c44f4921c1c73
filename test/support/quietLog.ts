import { createLog, type Log } from '../../src/log.ts'

/** A log that writes errors alone, but for the methods that a test has of its own, whose levels are enabled. */
export function quietLog(own: Partial<Log> = {}): Log {
  const log = createLog('error', 'json')
  return { ...log, isEnabled: (level) => level in own || log.isEnabled(level), ...own }
}
