import type { Random } from '../../support/random.ts'
import { type Asked, differenceFrom, hasPaths, isSummary, randomAsked, truthOf } from './asked.ts'
import { type Findings, nextOf } from './check.ts'
import type { Answer, Cluster } from './cluster.ts'
import { type Ids, readIds, writeOnce, writeOutside } from './writes.ts'

/**
 * Number of lists in one period, and number of these that are pages after a cursor. There are few, because all are read in each
 * state.
 */
const LISTS = 8
const BEHIND_CURSORS = 3
const READERS = 6

/** A list or summary to request. `path`: path of a further page, after a cursor; null for the first page. */
interface Moved {
  readonly asked: Asked
  readonly path: string | null
}

function pathOf({ asked, path }: Moved): string {
  return path ?? asked.path
}

/** Answers of all lists in one state of the tables. */
type State = ReadonlyMap<string, string>

/**
 * Sends one write after the other: by clients of either server, and by other programs. The right answer of each list is known for
 * every state. Each answer must be of a state from the time between the reader's request and its response.
 */
export async function proveStates(
  cluster: Cluster,
  random: Random,
  findings: Findings,
  { moment, forMs }: { moment: string; forMs: number },
): Promise<void> {
  const lists: Moved[] = Array.from({ length: LISTS }, () => ({ asked: randomAsked(random), path: null }))
  for (const [index, list] of lists.slice(0, BEHIND_CURSORS).entries()) {
    const path = nextOf(await cluster.askPatiently(list.asked.path, 'plain'))
    if (path !== null) lists[index] = { ...list, path }
  }
  const states: State[] = [await readState(cluster, lists, findings)]
  /** Number of writes that have begun. */
  let begun = 0
  let isOver = false
  const read = async () => {
    while (!isOver) {
      const list = random.pick(lists)
      const first = states.length - 1
      const answer = await cluster.ask(pathOf(list), 'GET', undefined, random.chance(80) ? 'cached' : 'elsewhere')
      const last = begun
      findings.count(`list ${answer.status}`)
      if (answer.status !== 200) continue
      findings.count(isSummary(list.asked) ? 'states of summaries' : 'states')
      if (hasPaths(list.asked)) findings.count('states, by paths')
      if (last > first) findings.count('states, beside a write')
      const shown = shownBy(answer)
      // The state after a write is read after the write has ended.
      while (states.length <= last && !isOver) await Bun.sleep(1)
      const possible = states.slice(first, last + 1).map((state) => state.get(pathOf(list)))
      if (!possible.includes(shown) && states.length > last)
        findings.differs('no state between question and answer', {
          moment,
          path: pathOf(list),
          first,
          last,
          shown,
          possible,
        })
    }
  }
  const readers = Array.from({ length: READERS }, read)
  const untilMs = performance.now() + forMs
  while (performance.now() < untilMs) {
    const ids = await readIds(cluster)
    begun++
    await write(cluster, random, ids, findings)
    states.push(await readState(cluster, lists, findings))
    // Right after a write, most readers request a list that it has changed.
    const fresh = random.pick(lists)
    const answer = await cluster.ask(pathOf(fresh), 'GET', undefined, random.chance(50) ? 'cached' : 'elsewhere')
    findings.count('fresh')
    const [now, before] = [states.at(-1)?.get(pathOf(fresh)), states.at(-2)?.get(pathOf(fresh))]
    if (now !== before) findings.count('fresh, changed')
    if (answer.status === 200 && shownBy(answer) !== now)
      findings.differs('not as of the write before', { moment, path: pathOf(fresh), shown: shownBy(answer), now })
  }
  isOver = true
  await Promise.all(readers)
}

async function write(cluster: Cluster, random: Random, ids: Ids, findings: Findings) {
  if (random.chance(30)) await writeOutside(cluster, random, findings)
  else await writeOnce(cluster, random, ids, findings, true, random.chance(30) ? 'elsewhere' : 'cached')
}

/** Reads the answers of all lists from the server without memory. Compares one of them with PostgreSQL. */
async function readState(cluster: Cluster, lists: readonly Moved[], findings: Findings): Promise<State> {
  const answers = await Promise.all(lists.map((list) => cluster.askPatiently(pathOf(list), 'plain')))
  const drawn = Math.floor(Math.random() * lists.length)
  const [{ asked, path }, answer] = [lists[drawn] as Moved, answers[drawn] as Answer]
  const { text, values } = truthOf(asked)
  const [row] = await cluster.sql.unsafe(text, values)
  // After a cursor there are other rows of the list, so only the total is compared.
  const difference = path === null ? differenceFrom(row, asked, answer) : answer.total === row?.total ? null : `${row?.total}`
  if (difference) findings.differs('the server without memory', { path: asked.path, answer, difference })
  return new Map(lists.map((list, index) => [pathOf(list), shownBy(answers[index] as Answer)]))
}

function shownBy({ total, text, link }: Answer): string {
  return `${total} ${text} ${link}`
}
