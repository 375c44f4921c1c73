// Groups of a summary as JSON, NDJSON or CSV. Averages are computed here, from sums and counts.
import { KIND_TRAITS } from '../model/kinds.ts'
import type { Row } from '../model/sql.ts'
import { figureIndex, type Measure, type SummaryQuery } from '../model/summary.ts'
import { jsonOf, objectWriter, type PrintableKind, type Write } from './json.ts'
import { respondPaged } from './page.ts'
import { addLinks, pageLinksOf } from './pageLinks.ts'
import type { BytesReply } from './reply.ts'
import { cellWriter, csvWriter, linesWriter, type StreamWriter } from './stream.ts'

const AVERAGE_SCALE = 8

/** Responds with a page of groups. `rows`: for each group its keys, count and figures; `url`: absolute, without a query. */
export function respondSummary(query: SummaryQuery, rows: readonly Row[], total: number, url: string): BytesReply {
  const write = groupWriter(membersOf(query))
  const body = Buffer.from(`[${rows.map(write).join(',')}]`)
  const links = pageLinksOf({ ...query, seek: null }, total, rows.length, false)
  return respondPaged(body, total, (headers) =>
    addLinks(headers, links, { previous: null, next: null }, url, query.queryWithoutPaging),
  )
}

/** Returns a writer of groups as lines of NDJSON or CSV. */
export function summaryWriter(query: SummaryQuery, form: 'csv' | 'ndjson'): StreamWriter {
  const members = membersOf(query)
  if (form === 'ndjson') return linesWriter(groupWriter(members))
  const cells = members.map(({ path, text, kind }) => ({ path, text, write: cellWriter(kind, query) }))
  return csvWriter(cells, query)
}

/** A value of a group: its path in the JSON, its kind, and the function that returns its text for a row. */
interface GroupValue {
  readonly path: readonly string[]
  readonly text: (row: Row) => string | null
  readonly kind: PrintableKind
}

/** Kind of counts, sums and averages, whose text is a JSON number. */
const NUMBER: PrintableKind = { ...KIND_TRAITS.decimal, readText: null }

function membersOf(query: SummaryQuery): GroupValue[] {
  const { keys, measures } = query
  const text = (index: number) => (row: Row) => row[index] ?? null
  return [
    ...keys.map(({ property }, index) => ({ path: property.path, text: text(index), kind: property.kind })),
    { path: ['count'], text: text(keys.length), kind: NUMBER },
    ...measures.map((measure) => ({
      path: [measure.aggregate, ...measure.property.path],
      text: measureText(query, measure),
      kind: ['minimum', 'maximum'].includes(measure.aggregate) ? measure.property.kind : NUMBER,
    })),
  ]
}

function measureText({ keys, figures }: SummaryQuery, { aggregate, property }: Measure): GroupValue['text'] {
  const index = (name: Parameters<typeof figureIndex>[1]) => keys.length + 1 + figureIndex(figures, name, property)
  if (aggregate !== 'average') {
    const column = index(aggregate)
    return (row) => row[column] ?? null
  }
  const sum = index('sum')
  const values = index('values')
  return (row) => averageOf(row[sum] ?? null, row[values] as string)
}

/** Divides the sum by the number of values, rounded half away from zero; null if there are no values. D76 */
function averageOf(sum: string | null, values: string): string | null {
  if (sum === null || sum === 'NaN') return sum
  const isNegative = sum.startsWith('-')
  const [whole = '', fraction = ''] = sum.slice(isNegative ? 1 : 0).split('.')
  const scale = Math.max(AVERAGE_SCALE, fraction.length)
  const divisor = BigInt(values) * 10n ** BigInt(scale - AVERAGE_SCALE)
  const units = (2n * BigInt(whole + fraction.padEnd(scale, '0')) + divisor) / (2n * divisor)
  const digits = String(units).padStart(AVERAGE_SCALE + 1, '0')
  const text = `${digits.slice(0, -AVERAGE_SCALE)}.${digits.slice(-AVERAGE_SCALE)}`
  return isNegative && units > 0n ? `-${text}` : text
}

/** Returns a writer of groups as JSON. An object is written at the position of its first member. */
function groupWriter(members: readonly GroupValue[], depth = 0): Write {
  const byKey = Map.groupBy(members, ({ path }) => path[depth] as string)
  const writerOf = (own: GroupValue[]): Write => {
    const [{ path, text, kind }] = own as [GroupValue]
    return path.length > depth + 1 ? groupWriter(own, depth + 1) : (row) => jsonOf(kind, text(row))
  }
  return objectWriter([...byKey].map(([key, own]) => [key, writerOf(own)]))
}
