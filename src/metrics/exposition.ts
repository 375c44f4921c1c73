import { type Metric, type MetricName, metrics, type Sample } from './declared.ts'

export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** The text that Prometheus reads, of every metric that has a value. Exposition formats, text-based format */
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
