import { createLog, type Log } from '../../src/log.ts'

/** Returns a log that writes only errors. `own`: methods that replace those of this log. */
export function quietLog(own: Partial<Log> = {}): Log {
  return { ...createLog('error', 'json'), ...own }
}
