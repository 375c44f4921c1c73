import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, until } from './process.ts'

/** Whether the machine has a `prometheus` and its `promtool`. */
export const hasPrometheus = Bun.which('prometheus') !== null && Bun.which('promtool') !== null

export interface RunningPrometheus {
  /** The first value that it finds for an expression now; null: none. */
  ask(expression: string): Promise<number | null>
  stop(): Promise<void>
}

/** A Prometheus of one's own with the configuration that docs/monitoring/ shows, but for what it reads and how often. */
export async function startPrometheus(target: string): Promise<RunningPrometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'roster-prometheus-'))
  const port = freePort()
  const shown = readFileSync(join(import.meta.dir, '../../docs/monitoring/prometheus.yml'), 'utf8')
  const file = join(folder, 'prometheus.yml')
  const rules = join(import.meta.dir, '../../docs/monitoring/alerts.yml')
  writeFileSync(
    file,
    shown.replace('127.0.0.1:9464', target).replace('scrape_interval: 15s', 'scrape_interval: 1s').replace('alerts.yml', rules),
  )
  execFileSync('promtool', ['check', 'config', file], { stdio: 'pipe' })
  const options = [`--config.file=${file}`, `--storage.tsdb.path=${folder}`, `--web.listen-address=127.0.0.1:${port}`]
  const server = Bun.spawn(['prometheus', ...options, '--log.level=error'], { stdout: 'ignore', stderr: 'inherit' })
  const ask = async (path: string) => {
    if (server.exitCode !== null) throw new Error(`prometheus ended with ${server.exitCode}`)
    return fetch(`http://127.0.0.1:${port}${path}`).catch(() => null)
  }
  await until(async () => (await ask('/-/ready'))?.status === 200)
  return {
    async ask(expression) {
      const answer = await ask(`/api/v1/query?query=${encodeURIComponent(expression)}`)
      const found = (await answer?.json()) as { data: { result: { value: [number, string] }[] } } | undefined
      const text = found?.data.result[0]?.value[1]
      return text === undefined ? null : Number(text)
    },
    async stop() {
      server.kill('SIGTERM')
      await server.exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** What `promtool` says of a text, given as its input or in a file; '' where it finds no fault. */
export function promtool(words: readonly string[], input = ''): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(['promtool', ...words], { stdin: Buffer.from(input) })
  return exitCode === 0 && stderr.length === 0 ? '' : `${stdout}${stderr}` || `exit code ${exitCode}`
}
