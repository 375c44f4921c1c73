import { type Finding, fault, ok } from './finding.ts'

/** Keys end and limits are reset by the clock; a smaller difference shows nowhere. */
const OFF_MS_MAX = 2_000

/** Whether another machine's clock, asked between two moments of this one's, goes as this one does. */
export function clockOff(check: string, thereMs: number, fromMs: number, toMs: number): Finding {
  const offMs = thereMs < fromMs ? fromMs - thereMs : Math.max(0, thereMs - toMs)
  const seconds = (offMs / 1_000).toFixed(1)
  if (offMs <= OFF_MS_MAX) return ok(check, 'goes as this machine’s')
  const way = thereMs < fromMs ? 'behind' : 'ahead'
  return fault(check, `${seconds} s ${way} of this machine’s: set both by NTP`)
}
