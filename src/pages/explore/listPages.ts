// Pages of a list in the order of a view. Rows that have no value to sort by come last on the page, in ascending and in
// descending order. In descending order, the API puts these rows first. The page therefore reads two lists: the rows with a
// value, and after them the rows without one.
import { type Page, Problem, readPage, readTotal, send } from './api.ts'
import { findNamed, type Property, type Resource } from './resources.ts'
import { type Filter, pagePath, printPath, type Shown, type View } from './view.ts'

/** Least and greatest `PageSize` of the API. */
const SIZES = { min: 5, max: 50 }

/** Returns the number of rows of a view's page, within the limits of the API. */
export const pageSizeOf = ({ size }: Pick<View, 'size'>) => Math.min(SIZES.max, Math.max(SIZES.min, Number(size) || SIZES.max))

/**
 * Returns a view with the order in which the page shows it. If the address has no order, the latest start comes first. A resource
 * without a span keeps the API's order, by id.
 */
export function inOrder({ span }: Resource, view: View): View {
  return view.sort.length > 0 || span === null ? view : { ...view, sort: [`-${span.start.name}`] }
}

/** True if the filter matches only rows with a value. */
const leavesOutNone = ({ sign, values }: Filter) =>
  sign === '[]' ? !values.includes('') : sign === '!=' ? values[0] === '' : sign !== '=' || values[0] !== ''

/**
 * Returns the property by which a list must be read as two lists: the rows with a value of the property, and the rows without
 * one. Returns null if one list is enough, because the API puts rows without a value last, or because the list has no such rows.
 */
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

/** Returns the request for a page of a list. `fields`: properties to read; undefined: the properties of the row itself. */
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

/**
 * Adds rows without a value to a page of rows with a value, up to the size of a page. `rest`: number of all rows without a value.
 * `pathOf`: returns the path of a page of these rows.
 */
async function joined(view: View, page: Page, rest: number, pathOf: (number: number) => string): Promise<Page> {
  const size = pageSizeOf(view)
  const number = Number(view.page)
  const total = page.total + rest
  const isPast = page.rows.length === 0
  const from = isPast ? Math.max(0, (number - 1) * size - page.total) : 0
  const wanted = Math.min(size - page.rows.length, rest - from)
  // The whole list and the list of rows without a value begin their pages at different rows. So a page of the whole list may need
  // rows of two pages of the second list.
  const first = Math.floor(from / size)
  const numbers = wanted <= 0 ? [] : [first, ...(from - first * size + wanted > size ? [first + 1] : [])]
  const parts = await Promise.all(numbers.map(async (at) => (await readPage(await sendNext(pathOf(at + 1)))).rows))
  const rows = [...page.rows, ...parts.flat().slice(from - first * size, from - first * size + Math.max(0, wanted))]
  const at = (page: number) => ({ page: String(page), cursor: '' })
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

/** Maximum attempts for one request of a page. */
const ATTEMPTS_MAX = 3

/**
 * Sends a further request for the same page. If the server asks to retry later, waits and sends only this request again: to
 * repeat all requests of the page would reach the rate limit again. @throws Problem
 */
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
