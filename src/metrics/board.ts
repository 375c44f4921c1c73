import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { HEADER_WORDS } from '../os/region.ts'
import { createSealed, type SealedRegion } from '../os/sealed.ts'
import { type CountsAccess, partOf } from './counts.ts'
import { type MetricName, metrics } from './declared.ts'
import { cellsOf, formatOf, type Place, placeOf, requestsPlace } from './layout.ts'
import type { Metric } from './metric.ts'

/** A worker that is replaced and its successor run side by side for a moment. */
const PARTS_FOR_WORKER = 2
const PARTS_MORE = 2

/** Series of a metric that have a value: their labels, and the value, or the cells of a histogram. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly values: readonly number[]
}

/**
 * The counts of all workers of this machine, in one mapped memory: each has a part of its own. When one ends, its successor
 * counts on where it has stopped, so that no sum ever goes back.
 */
export class MetricBoard {
  private readonly memory: SealedRegion
  private readonly size: number
  private readonly parts: Float64Array[]
  /** The process that has each part; null: none. */
  private readonly holders: (number | null)[]
  private readonly requests: Place

  /** @throws Error when there is no room for it */
  constructor(
    folder: string,
    workers: number,
    private readonly routes: readonly string[],
  ) {
    const count = PARTS_FOR_WORKER * workers + PARTS_MORE
    this.size = cellsOf(routes)
    this.requests = requestsPlace(routes)
    const path = join(folder, 'metrics')
    rmSync(path, { force: true })
    this.memory = createSealed(path, `metrics ${formatOf(routes)}`, HEADER_WORDS + 2 * this.size * count)
    const { words } = this.memory.region
    this.parts = Array.from({ length: count }, (_, part) => partOf(words, part, this.size))
    this.holders = this.parts.map(() => null)
  }

  /** Where a new process counts; null: there is no room, and what it counts is lost. */
  enter(process: number): CountsAccess | null {
    const part = this.holders.indexOf(null)
    if (part === -1) return null
    this.holders[part] = process
    return { path: this.memory.path, part, routes: this.routes, format: formatOf(this.routes) }
  }

  /** The process has ended: what it has counted stays, what it had at the time does not. */
  leave(process: number): void {
    const part = this.holders.indexOf(process)
    if (part === -1) return
    this.holders[part] = null
    for (const [name, metric] of Object.entries<Metric>(metrics)) {
      if (metric.type !== 'gauge' || metric.from === 'supervisor') continue
      const { first, series } = placeOf(name as Exclude<MetricName, 'requests'>)
      this.parts[part]?.fill(0, first, first + series.length)
    }
  }

  /** The number by which scrapes name a process, from 1; null: it has no part. */
  numberOf(process: number): number | null {
    const part = this.holders.indexOf(process)
    return part === -1 ? null : part + 1
  }

  /** What the workers have counted of a metric. */
  samples(name: MetricName): Sample[] {
    const metric: Metric = metrics[name]
    if (metric.from === 'supervisor') return []
    const place = name === 'requests' ? this.requests : placeOf(name)
    if (metric.from !== 'each') return this.together(place, name === 'requests', metric.from === 'greatest')
    return this.holders.flatMap((holder, part) =>
      holder === null
        ? []
        : [{ labels: { worker: String(part + 1) }, values: this.cells(part, place.first, place.each) }],
    )
  }

  close(): void {
    this.memory.close()
  }

  /** `isSparse`: without series that have counted nothing. */
  private together({ first, series, each }: Place, isSparse: boolean, isGreatest: boolean): Sample[] {
    const samples: Sample[] = []
    series.forEach((labels, index) => {
      const values = new Array<number>(each).fill(0)
      for (const part of this.parts)
        for (let at = 0; at < each; at++) {
          const value = part[first + index * each + at] as number
          values[at] = isGreatest ? Math.max(values[at] as number, value) : (values[at] as number) + value
        }
      if (!isSparse || values[0] !== 0) samples.push({ labels, values })
    })
    return samples
  }

  private cells(part: number, first: number, count: number): number[] {
    return Array.from((this.parts[part] as Float64Array).subarray(first, first + count))
  }
}
