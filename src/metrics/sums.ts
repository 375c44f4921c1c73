// Adds up the counts of workers, and writes the text of a scrape.
import type { Samples } from './counts.ts'
import { type Metric, type MetricName, metrics, type Sample } from './declared.ts'

/** A worker number: its latest process, and the counts of the ended processes that had the number before. */
interface Worker {
  process: unknown
  isRunning: boolean
  samples: Samples
  before: Partial<Record<MetricName, readonly Sample[]>>
}

/** Adds up the counts of workers. Counts of ended workers are kept, so that no counter decreases. */
export class MetricSums {
  private readonly workers: Worker[] = []

  /** Adds a process, which gets the lowest number that no running process has. */
  enter(process: unknown): void {
    const worker = this.workers.find(({ isRunning }) => !isRunning)
    const started = { process, isRunning: true, samples: {} }
    if (worker === undefined) this.workers.push({ ...started, before: {} })
    else Object.assign(worker, started, { before: countersOf(worker) })
  }

  /**
   * Records the counts of a process since its start. The last counts of a process can arrive after it has ended, and are
   * recorded, too.
   */
  note(process: unknown, samples: Samples): void {
    const worker = this.workers.find((one) => one.process === process)
    if (worker !== undefined) worker.samples = samples
  }

  leave(process: unknown): void {
    const worker = this.workers.find((one) => one.process === process)
    if (worker !== undefined) worker.isRunning = false
  }

  /** Returns the number, from 1, that a running process has in scrapes; 0 if the process does not run. */
  numberOf(process: unknown): number {
    return this.workers.findIndex((worker) => worker.process === process && worker.isRunning) + 1
  }

  samples(name: MetricName): Sample[] {
    const { type, from }: Metric = metrics[name]
    const parts = this.workers.map(({ isRunning, samples, before }) =>
      isRunning || type !== 'gauge' ? [...(before[name] ?? []), ...(samples[name] ?? [])] : [],
    )
    if (from !== 'each') return together(parts.flat(), from === 'greatest')
    return parts.flatMap((part, index) =>
      this.workers[index]?.isRunning
        ? together(part).map(({ values }) => ({ labels: { worker: String(index + 1) }, values }))
        : [],
    )
  }
}

function countersOf({ samples, before }: Worker): Worker['before'] {
  const names = (Object.keys(metrics) as MetricName[]).filter((name) => metrics[name].type !== 'gauge')
  return Object.fromEntries(names.map((name) => [name, together([...(before[name] ?? []), ...(samples[name] ?? [])])]))
}

/** Combines samples with the same labels into one sample: the sum of their values, or, if `isGreatest` is true, the greatest. */
function together(samples: readonly Sample[], isGreatest = false): Sample[] {
  const found = new Map<string, { labels: Sample['labels']; values: number[] }>()
  for (const { labels, values } of samples) {
    const sum = found.getOrInsertComputed(JSON.stringify(labels), () => ({ labels, values: [] }))
    values.forEach((value, at) => {
      const own = sum.values[at] ?? 0
      sum.values[at] = isGreatest ? Math.max(own, value) : own + value
    })
  }
  return [...found.values()]
}

export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/**
 * Writes the text that Prometheus reads, with every metric that has samples. See Prometheus, Exposition formats, text-based
 * format.
 */
export function writeMetrics(samplesOf: (name: MetricName) => readonly Sample[]): string {
  let text = ''
  for (const [key, metric] of Object.entries<Metric>(metrics)) {
    const samples = samplesOf(key as MetricName)
    if (samples.length === 0) continue
    const { name, type, help, bounds } = metric
    text += `# HELP ${name} ${help.replaceAll('\\', '\\\\')}\n# TYPE ${name} ${type}\n`
    for (const { labels, values } of samples)
      text += bounds ? histogram(name, labels, values, bounds) : line(name, labels, values[0] as number)
  }
  return text
}

function histogram(name: string, labels: Sample['labels'], values: readonly number[], bounds: readonly number[]): string {
  let text = ''
  let count = 0
  values.slice(0, -1).forEach((value, bucket) => {
    count += value
    text += line(`${name}_bucket`, { ...labels, le: String(bounds[bucket] ?? '+Inf') }, count)
  })
  return `${text}${line(`${name}_sum`, labels, values.at(-1) as number)}${line(`${name}_count`, labels, count)}`
}

function line(name: string, labels: Sample['labels'], value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`)
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`
}

function escaped(text: string): string {
  return text.replace(/[\\"\n]/g, (sign) => (sign === '\n' ? '\\n' : `\\${sign}`))
}
