// The log of slow statements, with a limit on its lines.
import type { Log } from '../log.ts'

/** Maximum number of lines per minute. The first line of the next minute says how many lines were omitted. */
const LINES_MAX = 10
const MINUTE_MS = 60_000
const TEXT_MAX = 2_000

/**
 * Returns a function that logs the text of a statement, without values, if the statement took at least `msMin` ms. If `msMin` is
 * 0, it logs no statement.
 */
export function slowStatements(log: Log, msMin: number): (text: string, ms: number) => void {
  let sinceMs = Number.NEGATIVE_INFINITY
  let lines = 0
  return (text, ms) => {
    if (msMin === 0 || ms < msMin) return
    const nowMs = performance.now()
    const isNext = nowMs - sinceMs >= MINUTE_MS
    const leftOut = isNext ? lines - LINES_MAX : 0
    if (isNext) {
      sinceMs = nowMs
      lines = 0
    }
    lines++
    if (lines > LINES_MAX) return
    log.warn('a slow statement', {
      ms: Math.round(ms),
      statement: text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text,
      ...(leftOut > 0 && { leftOut }),
    })
  }
}
