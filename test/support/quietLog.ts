import { createLog, type Log } from '../../src/log.ts'

/** A log that writes errors alone, but for the methods that a test has of its own. */
export function quietLog(own: Partial<Log> = {}): Log {
  return { ...createLog('error', 'json'), ...own }
}
