import { spawn } from 'node:child_process'
import cluster from 'node:cluster'

const COUNT = Number(process.env.PEER_PROCESSES ?? 1)
const PORT = Number(process.env.PORT ?? 0)

/** Writes the line that the suite waits for; `pids` are all processes of this peer. */
function announce(port, pids) {
  console.log(`listens on http://127.0.0.1:${port} (processes ${pids.join(' ')})`)
}

/** Ends this process when its parent has ended. */
function endWithParent() {
  const parent = process.ppid
  setInterval(() => process.ppid === parent || process.exit(), 500).unref()
}

/** Runs `listen`, which resolves with the port, in this process, or in several that share the port by node:cluster. */
export async function runProcesses(listen) {
  if (cluster.isWorker) return listen(PORT)
  endWithParent()
  if (COUNT === 1) return announce(await listen(PORT), [process.pid])
  const workers = Array.from({ length: COUNT }, () => cluster.fork())
  cluster.on('exit', () => process.exit(1))
  const addresses = await Promise.all(workers.map((worker) => new Promise((done) => worker.on('listening', done))))
  announce(addresses[0].port, [process.pid, ...workers.map((worker) => worker.process.pid)])
}

/** Serves with Bun in this process, and in others that share the port by SO_REUSEPORT. `program`: file of the peer. */
export async function runBunProcesses(program, fetch) {
  endWithParent()
  const { port } = Bun.serve({ fetch, port: PORT, hostname: '127.0.0.1', reusePort: true })
  const others = Array.from({ length: COUNT - 1 }, () => {
    const env = { ...process.env, PORT: String(port), PEER_PROCESSES: '1' }
    const other = spawn(process.execPath, ['--no-env-file', program], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    return other.on('exit', () => process.exit(1))
  })
  await Promise.all(others.map((other) => new Promise((done) => other.stdout.once('data', done))))
  process.on('SIGTERM', () => {
    for (const other of others) other.kill()
    process.exit()
  })
  announce(port, [process.pid, ...others.map((other) => other.pid)])
}
