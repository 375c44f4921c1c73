import { type Collection, inOrder, matches, type Filter as PlainFilter, properties, type Row } from '../../support/model.ts'
import type { Random } from '../../support/random.ts'
import { tables } from '../../support/randomRows.ts'
import type { Answer, Cluster, Name } from './cluster.ts'
import { type List, truthOf } from './randomList.ts'

/** Differences, and how much was checked. */
export class Findings {
  readonly counts: Record<string, number> = {}
  /** Differences, one per line; there must be none. */
  readonly differences: string[] = []
  private readonly startedMs = performance.now()

  count(what: string, by = 1): void {
    this.counts[what] = (this.counts[what] ?? 0) + by
  }

  differs(what: string, details: Record<string, unknown>): void {
    const afterMs = Math.round(performance.now() - this.startedMs)
    this.differences.push(`${what}: ${JSON.stringify({ afterMs, ...details })}`)
  }
}

/** Requests for each list, so that rarely a worker is left out. */
const ASKED = 5

/**
 * Checks lists while no client writes: every answer must be PostgreSQL’s, and equal to that of the server without memory byte for
 * byte.
 */
export async function checkExactly(
  cluster: Cluster,
  servers: readonly Name[],
  lists: readonly List[],
  findings: Findings,
  moment: string,
) {
  await inParallel(lists, 6, async (list) => {
    const { text, values } = truthOf(list)
    const [plain, rows, ...answers] = await Promise.all([
      cluster.ask(list.path, 'GET', undefined, 'plain'),
      cluster.sql.unsafe(text, values),
      ...servers.flatMap((server) => Array.from({ length: ASKED }, () => cluster.ask(list.path, 'GET', undefined, server))),
    ])
    const ids = String(rows[0]?.ids).replace(/[{}]/g, '')
    if (plain.status !== 200 || plain.total !== rows[0]?.total || idsOf(plain) !== ids)
      findings.differs('without views', { moment, path: list.path, ids, total: rows[0]?.total, plain })
    for (const answer of answers) {
      findings.count('exact')
      if (!isSame(answer, plain)) findings.differs('not exact', { moment, path: list.path, answer, plain })
    }
  })
}

/**
 * Follows the cursors of a list on both servers. Some rows at cursors are deleted before these are followed, so that no row has
 * their values any more.
 */
export async function checkCursors(cluster: Cluster, random: Random, list: List, findings: Findings, moment: string) {
  let path: string | null = list.path
  for (let pages = 0; path !== null && pages < 5; pages++) {
    const current: string = path
    const [plain, ...answers] = await Promise.all([
      cluster.ask(current, 'GET', undefined, 'plain'),
      ...Array.from({ length: ASKED }, () => cluster.ask(current)),
    ])
    for (const answer of answers) {
      findings.count('exact')
      if (!isSame(answer, plain)) findings.differs('not exact by cursor', { moment, path, answer, plain })
    }
    path = nextOf(plain)
    if (path !== null && random.chance(50)) await deleteLast(cluster, list.collection, plain, findings)
  }
}

/** The path of the next page, by a cursor; null: it is the last one. */
export function nextOf({ link }: Answer): string | null {
  return /<http:\/\/roster\.test([^>]*)>; rel="next"/.exec(link)?.[1] ?? null
}

/** Deletes the last row of a page, if no other refers to it. */
async function deleteLast({ sql }: Cluster, collection: Collection, answer: Answer, findings: Findings) {
  const last = idsOf(answer).split(',').at(-1) as string
  await sql`delete from ${sql(tables[collection])} where id = ${last}`.then(
    () => findings.count('rows at cursors, deleted'),
    () => undefined,
  )
}

/** Checks what holds during writes, too: sorted, no row twice, every row within the filters, and a possible total. */
export function checkSanity({ collection, filters, sorts, path }: List, answer: Answer, findings: Findings): void {
  findings.count('sane')
  const rows = rowsOf(collection, answer)
  const ids = rows.map(({ Id }) => Id)
  const faults: string[] = []
  if (new Set(ids).size !== ids.length) faults.push('a row twice')
  const plain = filters.filter(({ operator }) => !operator.startsWith('[')) as PlainFilter[]
  if (!rows.every((row) => plain.every((filter) => matches(filter, row)))) faults.push('a row that does not match')
  const sorted = inOrder(rows, [...sorts]).map(({ Id }) => Id)
  if (String(sorted) !== String(ids)) faults.push('not sorted')
  if (!(answer.total >= 0)) faults.push('a total that cannot be')
  if (faults.length > 0) findings.differs(faults.join(), { path, total: answer.total, text: answer.text })
}

function isSame(answer: Answer, other: Answer): boolean {
  return (
    answer.status === other.status && answer.total === other.total && answer.text === other.text && answer.link === other.link
  )
}

function idsOf({ text }: Answer): string {
  return text.startsWith('[')
    ? JSON.parse(text)
        .map(({ id }: { id: number }) => id)
        .join()
    : ''
}

/** The rows of a page, decimals as texts with all of their digits. */
function rowsOf(collection: Collection, { text }: Answer): Row[] {
  return JSON.parse(text.replace(/:(\d+\.\d{8})(?=[,}])/g, ':"$1"')).map((row: Record<string, unknown>) =>
    Object.fromEntries(properties[collection].map(({ name }) => [name, partOf(row, name)])),
  )
}

function partOf(row: Record<string, unknown>, name: string): Row[string] {
  let value: unknown = row
  for (const part of name.split('.')) {
    const key = (part[0] as string).toLowerCase() + part.slice(1)
    value = (value as Record<string, unknown> | null)?.[key] ?? null
  }
  return value as Row[string]
}

/** Runs `work` for all items, at most `atOnce` at a time. */
export async function inParallel<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>) {
  const rest = [...items]
  const next = async () => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await work(item)
  }
  await Promise.all(Array.from({ length: atOnce }, next))
}
