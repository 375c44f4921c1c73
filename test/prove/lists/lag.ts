import type { Cluster } from './cluster.ts'

const LAG_MS_MAX = 2_500
/** So often at once, so that hardly ever a worker is left out; and so often in a row they must show the write. */
const ASKED = 4
const SHOWN = 3

/**
 * Milliseconds after a commit elsewhere at which the last list was asked for that did not show it. `mark`: one that no
 * row has. `by`: plain SQL, or the server of another machine.
 */
export async function lagOf(cluster: Cluster, mark: string, by: 'sql' | 'server'): Promise<number> {
  const path = `/Absences?Type=${encodeURIComponent(mark)}`
  const ask = (times: number) => Promise.all(Array.from({ length: times }, () => cluster.ask(path)))
  await ask(6)
  if (by === 'sql') await cluster.sql`insert into absence (type) values (${mark})`
  else await cluster.askElsewhere('/Absences', 'POST', { Type: mark })
  const committedMs = performance.now()
  let lagMs = 0
  for (let shown = 0; shown < SHOWN && lagMs < LAG_MS_MAX; ) {
    const askedMs = performance.now() - committedMs
    const isShown = (await ask(ASKED)).every(({ total, text }) => total === 1 && text !== '[]')
    shown = isShown ? shown + 1 : 0
    if (!isShown) lagMs = askedMs
  }
  return lagMs
}
