// Pages of a list in the order that a view asks for. Rows without a value come last in both directions: the API has them first
// when descending, so there the page reads two lists, the rows with a value and then those without.
import { type Page, Problem, readPage, readTotal, send } from './api.ts'
import { findNamed, type Property, type Resource } from './resources.ts'
import { type Filter, pagePath, printPath, type Shown, type View } from './view.ts'

/** Rows of a page that the API gives at least, and at most. */
const SIZES = { min: 5, max: 50 }

/** Returns the number of rows of a page. */
export const pageSizeOf = ({ size }: Pick<View, 'size'>) => Math.min(SIZES.max, Math.max(SIZES.min, Number(size) || SIZES.max))

/** Returns a view with its order: that of the address, else the latest start first, else that of ids. */
export function inOrder({ span }: Resource, view: View): View {
  return view.sort.length > 0 || span === null ? view : { ...view, sort: [`-${span.start.name}`] }
}

/** True if no row without a value matches the filter. */
const leavesOutNone = ({ sign, values }: Filter) =>
  sign === '[]' ? !values.includes('') : sign === '!=' ? values[0] === '' : sign !== '=' || values[0] !== ''

/** Returns the property by which a list must be read in two parts; null: the API's own order has its empty rows last. */
function splitOf({ properties }: Resource, { sort: [first = ''], filters }: View): Property | null {
  if (!first.startsWith('-')) return null
  const property = findNamed(properties, first.slice(1).trim())
  if (!property?.isNullable) return null
  const isOf = ({ name }: Filter) => name.toLowerCase() === property.name.toLowerCase()
  return filters.some((filter) => isOf(filter) && leavesOutNone(filter)) ? null : property
}

/** A request for a page of a list: the path of the first request, and how its response is read. */
export interface ListRequest {
  readonly path: string
  read(response: Response): Promise<Page>
}

/** Makes the request for a page. `fields`: properties to read; undefined for those of the row itself. */
export function listRequest({ resource, view }: Shown, fields?: string): ListRequest {
  const { plural } = resource
  const split = splitOf(resource, view)
  if (split === null) return { path: pagePath(plural, view, fields), read: readPage }
  const withValue = { ...view, filters: [...view.filters, { name: split.name, sign: '!=', values: [''] }] }
  const without = { ...view, filters: [...view.filters, { name: split.name, sign: '=', values: [''] }] }
  const read = async (response: Response) => {
    const page = await readPage(response)
    const rest = await readTotal(await sendNext(printPath(plural, without.filters), { method: 'HEAD' }))
    return joined(view, page, rest, (number) => pagePath(plural, { ...without, page: String(number), cursor: '' }, fields))
  }
  return { path: pagePath(plural, withValue, fields), read }
}

/** Fills a page of rows with a value by some of the `rest` that have none. `pathOf`: path of a page of these. */
async function joined(view: View, page: Page, rest: number, pathOf: (number: number) => string): Promise<Page> {
  const size = pageSizeOf(view)
  const number = Number(view.page)
  const total = page.total + rest
  const isPast = page.rows.length === 0
  const from = isPast ? Math.max(0, (number - 1) * size - page.total) : 0
  const wanted = Math.min(size - page.rows.length, rest - from)
  // Pages of the rest begin elsewhere than those of the whole list, so some rows of two of them are shown.
  const first = Math.floor(from / size)
  const numbers = wanted <= 0 ? [] : [first, ...(from - first * size + wanted > size ? [first + 1] : [])]
  const parts = await Promise.all(numbers.map(async (at) => (await readPage(await sendNext(pathOf(at + 1)))).rows))
  const rows = [...page.rows, ...parts.flat().slice(from - first * size, from - first * size + Math.max(0, wanted))]
  const at = (place: number) => ({ page: String(place), cursor: '' })
  const pages = Math.max(1, Math.ceil(total / size))
  return {
    rows,
    total,
    links: {
      ...(number > 1 ? { previous: (isPast ? null : page.links.previous) ?? at(Math.min(number - 1, pages)) } : {}),
      ...(number >= pages ? {} : { next: page.links.next ?? at(number + 1) }),
    },
  }
}

/** Maximum times that one request of a page is sent. */
const ATTEMPTS_MAX = 3

/** Sends a further request of a page; waits for a limit, which a page that begins again would reach again. @throws Problem */
async function sendNext(path: string, options?: RequestInit): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send(path, options)
    } catch (error) {
      if (!(error instanceof Problem) || error.retryAfter === null || attempt === ATTEMPTS_MAX) throw error
      await new Promise((resolve) => setTimeout(resolve, 1_000 * (error.retryAfter as number)))
    }
  }
}
