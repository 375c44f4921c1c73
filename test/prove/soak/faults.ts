import { connect } from 'node:net'
import { workersOf } from '../../support/process.ts'
import type { Random } from '../../support/random.ts'
import { bytesOf } from '../../support/requests.ts'
import type { Cluster } from '../lists/cluster.ts'
import { backends, crashPostgres, frozen, signal, terminate } from '../lists/faults.ts'

interface Soaked {
  readonly cluster: Cluster
  readonly random: Random
  /** Process that no fault ends, so that its memory can be compared over the whole run. */
  readonly veteran: number
}

/** Faults of the server while clients write and read. Each promise resolves when the fault is over. */
export const soakFaults: Readonly<Record<string, (soaked: Soaked) => Promise<unknown>>> = {
  'a worker is killed': async ({ cluster, random, veteran }) =>
    signal(random.pick(workersOf(cluster.pid).filter((pid) => pid !== veteran)), 'SIGKILL'),
  'a worker stands still': ({ cluster, random }) => frozen([random.pick(workersOf(cluster.pid))], 1_500),
  'the supervisor stands still': ({ cluster }) => frozen([cluster.pid], 1_500),
  'all connections to PostgreSQL are cut': ({ cluster }) => terminate(cluster, 'roster%'),
  'a backend dies, and PostgreSQL recovers': ({ cluster }) => crashPostgres(cluster),
  'PostgreSQL is restarted': ({ cluster }) => cluster.restartPostgres('SIGINT'),
  'PostgreSQL is stopped at once, and started': ({ cluster }) => cluster.restartPostgres('SIGQUIT'),
  'PostgreSQL stands still': async ({ cluster, random }) =>
    frozen([...(await backends(cluster, 'roster%')), cluster.postmasterPid], 1_000 + random.below(3_000)),
}

/** Runs clients that leave before their response, and clients that send and read slowly. They write nothing. */
export async function disturb(url: string, random: Random, isOver: () => boolean, count: (what: string) => void) {
  const { hostname, port } = new URL(url)
  while (!isOver()) {
    const path = random.pick(['/Absences?sort=-Reason,Type&Reason=!=x', '/Companies/1', '/Employees?PageSize=50'])
    const request = bytesOf('GET', path).toString()
    const socket = connect(Number(port), hostname)
    socket.on('error', () => undefined)
    if (random.chance(50)) {
      socket.write(request)
      await Bun.sleep(random.below(20))
      count('clients that left')
    } else {
      socket.pause()
      for (const piece of request.match(/[\s\S]{1,9}/g) as string[]) {
        if (!socket.destroyed) socket.write(piece)
        await Bun.sleep(random.below(60))
      }
      count('slow clients')
    }
    socket.destroy()
  }
}
