import { readdirSync, readFileSync } from 'node:fs'
import { version } from '../../package.json'
import type { Config } from '../config/config.ts'
import { withConnection } from '../execute/connect.ts'
import type { Database } from '../execute/database.ts'
import type { HookUse } from '../hooks/sender.ts'
import { createReadiness } from '../http/readiness.ts'
import { type MetricName, metrics, type Sample } from '../metrics/declared.ts'
import { MetricSums, writeMetrics } from '../metrics/sums.ts'
import type { Statement } from '../model/sql.ts'
import { descriptorsMax } from '../os/descriptors.ts'
import { type AdminServer, serveAdmin } from './adminServer.ts'
import type { WorkerPool } from './workerPool.ts'

interface Supervised {
  workers(): Pick<WorkerPool, 'running' | 'replacements' | 'poll'> | null
  hooks(): HookUse | null
  readonly url: string
  readonly migrationFiles: readonly string[]
  /** False: the server waits for its database, or stops. */
  isServing(): boolean
}

/** Metrics and readiness of a server, on a port of their own. */
export class Monitor {
  readonly sums = new MetricSums()
  private server: AdminServer | null = null
  private readonly startedSeconds = Date.now() / 1_000
  private readonly descriptorsMax = descriptorsMax()

  constructor(
    private readonly config: Config,
    private readonly supervised: Supervised,
  ) {}

  /** Begins to answer. Returns where. @throws StartError */
  start(): string {
    const { url, migrationFiles, isServing } = this.supervised
    const database = { read: ({ text }: Statement) => withConnection(url, (sql) => sql.unsafe(text).values()) }
    const isReady = createReadiness(database as Pick<Database, 'read'>, migrationFiles)
    const isLive = () => (this.supervised.workers()?.running.size ?? 0) > 0
    const at = { host: this.config.adminHost, port: this.config.adminPort as number }
    const isUp = async () => isLive() && isServing() && isReady()
    this.server = serveAdmin(at, { isLive, isReady: isUp, metrics: () => this.text() })
    return this.server.url
  }

  stop(): void {
    this.server?.stop()
  }

  private async text(): Promise<string> {
    await this.supervised.workers()?.poll()
    const own = this.ownSamples()
    return writeMetrics((name) => (metrics[name].from === 'supervisor' ? (own[name] ?? []) : this.sums.samples(name)))
  }

  private ownSamples(): Partial<Record<MetricName, Sample[]>> {
    const workers = this.supervised.workers()
    const running = [...(workers?.running ?? [])]
    const uses = [
      ...processUse('supervisor', 'self'),
      ...running.flatMap(([process, pid]) => processUse(`worker-${this.sums.numberOf(process)}`, pid)),
    ]
    return {
      workers: one(running.length),
      workersWanted: one(this.config.workers),
      replacements: one(workers?.replacements ?? 0),
      ...samplesOfHooks(this.supervised.hooks()),
      memory: uses.map(({ labels, bytes }) => ({ labels, values: [bytes] })),
      descriptors: uses.map(({ labels, open }) => ({ labels, values: [open] })),
      descriptorsMax: Number.isFinite(this.descriptorsMax) ? one(this.descriptorsMax) : [],
      started: one(this.startedSeconds),
      build: [{ labels: { version, bun: Bun.version }, values: [1] }],
    }
  }
}

function samplesOfHooks(use: HookUse | null): Partial<Record<MetricName, Sample[]>> {
  if (use === null) return {}
  const { states, taken, failed, lagMs } = use
  return {
    hooks: Object.entries(states).map(([state, value]) => ({ labels: { state }, values: [value] })),
    deliveries: Object.entries({ taken, failed }).map(([outcome, value]) => ({ labels: { outcome }, values: [value] })),
    hookLag: one(lagMs / 1_000),
  }
}

function one(value: number): Sample[] {
  return [{ labels: {}, values: [value] }]
}

/** Resident memory and open descriptors, as Linux says it; nothing of a process that has ended, and on other systems. proc(5) */
function processUse(process: string, pid: number | 'self') {
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? []
    if (kilobytes === undefined) return []
    return [{ labels: { process }, bytes: Number(kilobytes) * 1_024, open: readdirSync(`/proc/${pid}/fd`).length }]
  } catch {
    return []
  }
}
