import type { Samples } from './counts.ts'
import { type Metric, type MetricName, metrics, type Sample } from './declared.ts'

/** The processes that have had one number, one after the other. */
interface Slot {
  process: number
  isRunning: boolean
  samples: Samples
  before: Partial<Record<MetricName, readonly Sample[]>>
}

/** Adds up what the workers count. What a worker has counted stays when it has ended, so that no sum goes back. */
export class MetricSums {
  private readonly slots: Slot[] = []

  /** A process begins: it gets the first number that no running process has. */
  enter(process: number): void {
    const slot = this.slots.find(({ isRunning }) => !isRunning)
    const started = { process, isRunning: true, samples: {} }
    if (slot === undefined) this.slots.push({ ...started, before: {} })
    else Object.assign(slot, started, { before: countersOf(slot) })
  }

  /** Takes what a process has counted since its start. It may arrive after the end of the process. */
  note(process: number, samples: Samples): void {
    const slot = this.slots.find((one) => one.process === process)
    if (slot !== undefined) slot.samples = samples
  }

  /** A process has ended. */
  leave(process: number): void {
    const slot = this.slots.find((one) => one.process === process)
    if (slot !== undefined) slot.isRunning = false
  }

  /** The number by which scrapes name a running process, from 1. */
  numberOf(process: number): number {
    return this.slots.findIndex((slot) => slot.process === process && slot.isRunning) + 1
  }

  samples(name: MetricName): Sample[] {
    const { type, from }: Metric = metrics[name]
    const parts = this.slots.map(({ isRunning, samples, before }) =>
      isRunning || type !== 'gauge' ? [...(before[name] ?? []), ...(samples[name] ?? [])] : [],
    )
    if (from !== 'each') return together(parts.flat(), from === 'greatest')
    return parts.flatMap((part, index) =>
      this.slots[index]?.isRunning ? together(part).map(({ values }) => ({ labels: { worker: String(index + 1) }, values })) : [],
    )
  }
}

function countersOf({ samples, before }: Slot): Slot['before'] {
  const names = (Object.keys(metrics) as MetricName[]).filter((name) => metrics[name].type !== 'gauge')
  return Object.fromEntries(names.map((name) => [name, together([...(before[name] ?? []), ...(samples[name] ?? [])])]))
}

/** One sample for each set of labels: the sum of its values, or the greatest. */
function together(samples: readonly Sample[], isGreatest = false): Sample[] {
  const found = new Map<string, { labels: Sample['labels']; values: number[] }>()
  for (const { labels, values } of samples) {
    const key = JSON.stringify(labels)
    const sum = found.get(key)
    if (sum === undefined) found.set(key, { labels, values: [...values] })
    else
      values.forEach((value, at) => {
        const own = sum.values[at] ?? 0
        sum.values[at] = isGreatest ? Math.max(own, value) : own + value
      })
  }
  return [...found.values()]
}
