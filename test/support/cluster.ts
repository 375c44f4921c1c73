import { chmodSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { startEmbedded } from '../../src/postgres/embedded.ts'

/** Setting of the test run: a data folder with a new cluster. Without it, each first start runs initdb. */
export const TEMPLATE = 'TEST_CLUSTER'

// Most of a new cluster is a segment of the WAL that is still empty.
const COPY = process.platform === 'linux' ? ['cp', '-a', '--sparse=always'] : ['cp', '-a']

/** Makes `folder` a data folder with a new cluster, without starting PostgreSQL. */
export async function makeTemplate(folder: string): Promise<string> {
  mkdirSync(folder)
  chmodSync(folder, 0o755) // PostgreSQL may run as the user `nobody`
  await (await startEmbedded({ dataDir: folder, settings: { fsync: 'off' } })).stop()
  return folder
}

/** Copies a new cluster into `dataDir`, so that a start needs no initdb, which costs a second of CPU. */
export function copyCluster(dataDir: string): void {
  const template = process.env[TEMPLATE]
  if (!template) return
  mkdirSync(dataDir, { recursive: true })
  for (const part of ['postgres.password', 'postgres']) {
    // If PostgreSQL cannot run in the data folder, the cluster is elsewhere; then a start runs initdb.
    if (!existsSync(join(template, part))) return
    const { exitCode, stderr } = Bun.spawnSync([...COPY, join(template, part), join(dataDir, part)])
    if (exitCode !== 0) throw new Error(`the cluster could not be copied: ${stderr}`)
  }
}
