import { type Collection, inOrder, matches, type Filter as PlainFilter, properties, type Row } from '../../support/model.ts'
import type { Random } from '../../support/random.ts'
import { tables } from '../../support/randomRows.ts'
import { type Asked, differenceFrom, hasPaths, isSummary, rowsOf, truthOf } from './asked.ts'
import type { Answer, Cluster, Name } from './cluster.ts'
import { fieldsParameter, type List, parametersOf } from './randomList.ts'
import { isRelated } from './related.ts'

/** Collects differences, and counts what was checked. */
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

/** Number of requests for each list, so that nearly always every worker gets one. */
const ASKED = 5

/** Maximum number of rows of a list whose streams are checked, too. */
const STREAMED_MAX = 2_000

/**
 * Checks answers while no client writes. The answer without memory must be the same as PostgreSQL's, and all other answers must
 * be equal to it byte for byte.
 */
export async function checkExactly(
  cluster: Cluster,
  servers: readonly Name[],
  asked: readonly Asked[],
  findings: Findings,
  moment: string,
) {
  await inParallel(asked, 6, async (one) => {
    const { path } = one
    const { text, values } = truthOf(one)
    const [plain, [truth], ...answers] = await Promise.all([
      cluster.askPatiently(path, 'plain'),
      cluster.sql.unsafe(text, values),
      ...servers.flatMap((server) => Array.from({ length: ASKED }, () => cluster.askPatiently(path, server))),
    ])
    const difference = differenceFrom(truth, one, plain)
    if (difference) findings.differs('without memory', { moment, path, difference })
    for (const answer of answers) {
      findings.count(isSummary(one) ? 'exact summaries' : 'exact')
      if (hasPaths(one)) findings.count('exact, by paths')
      if (!isSame(answer, plain)) findings.differs('not exact', { moment, path, answer, plain })
    }
    if (isSummary(one) || one.shown === null) return
    await checkRow(cluster, servers, one, plain, findings, moment)
    if (plain.total <= STREAMED_MAX) await checkStreams(cluster, servers, one, findings, moment)
  })
}

/** Requests the first row of a page by its id, with the same `fields`, and checks the answer. */
async function checkRow(
  cluster: Cluster,
  servers: readonly Name[],
  { collection, shown }: List,
  plain: Answer,
  findings: Findings,
  moment: string,
) {
  const [id] = idsOf(plain).split(',')
  if (!id || shown === null) return
  const path = `/${collection}/${id}?${fieldsParameter(shown)}`
  const own = { field: ID, operator: '=', operand: id }
  const list = { collection, filters: [own], sorts: [], page: 1, pageSize: 5, shown, path }
  const { text, values } = truthOf(list)
  const [[truth], ...answers] = await Promise.all([
    cluster.sql.unsafe(text, values),
    ...['plain' as const, ...servers].map((server) => cluster.askPatiently(path, server)),
  ])
  for (const answer of answers) {
    findings.count('exact rows')
    const difference = differenceFrom(truth, list, { ...answer, text: `[${answer.text}]`, total: 1 })
    if (difference) findings.differs('a row', { moment, path, difference })
  }
}

const ID = { name: 'Id', kind: 'integer' } as const

/** Checks the streams of a list in both forms, NDJSON and CSV. The rows must be the same as PostgreSQL's. */
async function checkStreams(cluster: Cluster, servers: readonly Name[], list: List, findings: Findings, moment: string) {
  const path = `/${list.collection}?${parametersOf(list).join('&')}`
  const { text, values } = truthOf({ ...list, page: 1, pageSize: STREAMED_MAX })
  const [truth] = await cluster.sql.unsafe(text, values)
  for (const accept of ['application/x-ndjson', 'text/csv']) {
    const [plain, ...answers] = await Promise.all(
      ['plain' as const, ...servers].map((server) => cluster.askPatiently(path, server, accept)),
    )
    const [first] = [plain as Answer]
    if (accept === 'application/x-ndjson') {
      const lines = first.text.split('\n').slice(0, -1)
      const difference = differenceFrom(truth, list, { ...first, text: `[${lines}]`, total: Number(truth?.total) })
      if (difference) findings.differs('a stream', { moment, path, difference })
    } else if (recordsOf(first.text) !== truth?.total) findings.differs('a CSV', { moment, path, text: first.text, truth })
    for (const answer of answers) {
      findings.count('exact streams')
      if (answer.text !== first.text) findings.differs('another stream', { moment, path, accept, answer, plain })
    }
  }
}

/** Returns the number of rows of a CSV. Texts of the proof have no line breaks. */
function recordsOf(csv: string): number {
  return csv.split('\r\n').length - 2
}

/**
 * Follows the cursors of a list on both servers. Before a cursor is followed, its row is sometimes deleted, so that no row has
 * the cursor's values any more.
 */
export async function checkCursors(cluster: Cluster, random: Random, list: List, findings: Findings, moment: string) {
  let path: string | null = list.path
  for (let pages = 0; path !== null && pages < 5; pages++) {
    const current: string = path
    const [plain, ...answers] = await Promise.all([
      cluster.askPatiently(current, 'plain'),
      ...Array.from({ length: ASKED }, () => cluster.askPatiently(current, 'cached')),
    ])
    for (const answer of answers) {
      findings.count('exact')
      if (!isSame(answer, plain)) findings.differs('not exact by cursor', { moment, path, answer, plain })
    }
    path = nextOf(plain)
    if (path !== null && random.chance(50)) await deleteLast(cluster, list.collection, plain, findings)
  }
}

/** Returns the path of the next page, with a cursor; null on the last page. */
export function nextOf({ link }: Answer): string | null {
  return /<http:\/\/roster\.test([^>]*)>; rel="next"/.exec(link)?.[1] ?? null
}

/** Deletes the last row of a page if no other row refers to it. */
async function deleteLast({ sql }: Cluster, collection: Collection, answer: Answer, findings: Findings) {
  const last = idsOf(answer).split(',').at(-1) as string
  await sql`delete from ${sql(tables[collection])} where id = ${last}`.then(
    () => findings.count('rows at cursors, deleted'),
    () => undefined,
  )
}

/**
 * Checks what also holds during writes: rows are sorted, each occurs once and is within the filters, and the total is possible.
 */
export function checkSanity(asked: Asked, answer: Answer, findings: Findings): void {
  if (isSummary(asked) || asked.shown !== null) return
  const { collection, filters, sorts, path } = asked
  findings.count('sane')
  const rows = modelRowsOf(collection, answer)
  const ids = rows.map(({ Id }) => Id)
  const faults: string[] = []
  if (new Set(ids).size !== ids.length) faults.push('a row twice')
  const own = filters.filter(({ field }) => !isRelated(collection, field))
  const plain = own.filter(({ operator }) => !operator.startsWith('[')) as PlainFilter[]
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

/** Returns the rows of a page in the form of the model's rows. */
function modelRowsOf(collection: Collection, answer: Answer): Row[] {
  return rowsOf(answer).map((row) => Object.fromEntries(properties[collection].map(({ name }) => [name, partOf(row, name)])))
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
