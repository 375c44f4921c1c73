import type { Random } from '../../../support/random.ts'
import type { Cluster } from '../cluster.ts'
import { idIn } from './elsewhere.ts'

/** Fills the log of changes, and leaves a cursor so short that links to pages beside such rows are sent. */
const LONG = 'n'.repeat(200)

interface Options {
  /** Also names, for which servers forget all that they know of the tables that copy names. */
  readonly renames: boolean
  readonly isOver: () => boolean
  /** No client must write now. */
  readonly isHeld: () => boolean
}

/** A client that writes companies to which nothing refers, as fast as it is answered. */
export async function writeInBackground(cluster: Cluster, random: Random, { renames, isOver, isHeld }: Options) {
  let id = Number.NaN
  while (!isOver()) {
    if (isHeld()) {
      await Bun.sleep(20)
      continue
    }
    const named = { Name: random.pick(['a', 'b', null, LONG, LONG, LONG]), Enabled: random.chance(50) }
    const body = renames || Number.isNaN(id) ? named : { Enabled: named.Enabled }
    if (Number.isNaN(id)) id = idIn((await cluster.ask('/Companies', 'POST', body)).text)
    else if (random.chance(90)) await cluster.ask(`/Companies/${id}`, 'PATCH', body)
    else {
      await cluster.ask(`/Companies/${id}`, 'DELETE')
      id = Number.NaN
    }
  }
}
