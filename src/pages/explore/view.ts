// The state of the page, kept in its address after `#`: resource, filters, sorts, page, open row, summary.
import type { Resource } from './resources.ts'
import { Store } from './store.ts'

/** A filter in the form of the API. */
export interface Filter {
  readonly name: string
  /** Operator: `=`, `!=`, `<`, `<=`, `>`, `>=`, `[]`, `[contains]`, `[begins]` or `[under]`. */
  readonly sign: string
  /** Operands: one, or several for `[]`. An empty operand means "no value". */
  readonly values: readonly string[]
}

/** Parts of a view that are single parameters of the address, with their defaults. `row`: id of the open row. */
const DEFAULTS = {
  // Position in the list, as the API's links name it.
  page: '1',
  cursor: '',
  size: '50',
  row: '',
  tab: 'table',
  // The open form: `new` for a new row, `edit` for the open row, `import` for a file.
  form: '',
  // State of the summary: the measure, such as `sum(Period.Days)`, the dimensions, such as `month(Start)` and `Type`, the chart
  // style, and the sort and page of groups.
  show: '',
  by: '',
  and: '',
  as: '',
  groupSort: '',
  groupPage: '1',
}
type Plain = keyof typeof DEFAULTS
const PLAIN = Object.keys(DEFAULTS) as Plain[]
/** Names of parameters in the address that differ from the names in `View`. */
const NAMES: Partial<Record<Plain, string>> = { size: 'PageSize', tab: 'view', groupSort: 'groups' }

/** Everything that determines what the page shows, except the session. */
export interface View extends Readonly<Record<Plain, string>> {
  readonly resource: string
  readonly filters: readonly Filter[]
  /** Names of the properties to sort by, in their order. A minus sign in front means descending. */
  readonly sort: readonly string[]
}

/** A resource, and the view of it. */
export interface Shown {
  readonly resource: Resource
  readonly view: View
}

export function emptyView(resource: string): View {
  return { ...DEFAULTS, resource, filters: [], sort: [] }
}

/** Decodes a part of an address; leaves invalid encodings as they are. */
export function decodeText(text: string): string {
  return new URLSearchParams(`text=${text.replaceAll('+', '%2B')}`).get('text') ?? ''
}

/** Reads `#/Absences?Status=Approved&sort=-Start&view=summary`. Never fails: the API refuses invalid parts. */
export function readView(hash: string): View {
  const [, resource = '', query = ''] = /^#?\/?([^?]*)\??(.*)$/s.exec(hash) ?? []
  const plain = { ...DEFAULTS }
  const filters: Filter[] = []
  let sort: string[] = []
  for (const [name, value] of new URLSearchParams(query)) {
    const own = PLAIN.find((key) => (NAMES[key] ?? key) === name)
    if (own) plain[own] = value
    else if (name === 'sort') sort = value.split(',').map((part) => part.trim().replace(/^\+/, ''))
    else addFilter(filters, name, value)
  }
  return { ...plain, resource: decodeText(resource), filters, sort: sort.filter(Boolean) }
}

function addFilter(filters: Filter[], name: string, value: string): void {
  const [, bare = name, bracket] = /^(.+?)(\[\w*\])$/.exec(name) ?? []
  if (bracket === undefined) {
    const [, sign = '=', operand = ''] = /^(!=|<=|>=|=|<|>)?(.*)$/s.exec(value) ?? []
    filters.push({ name: bare, sign, values: [operand] })
    return
  }
  const sign = bracket === '[any]' ? '[]' : bracket
  const before = filters.findIndex((filter) => filter.name === bare && filter.sign === sign)
  if (sign !== '[]' || before < 0) filters.push({ name: bare, sign, values: [value] })
  else filters[before] = { name: bare, sign, values: [...(filters[before]?.values ?? []), value] }
}

/** Parameters of a query string; undefined parameters are left out. */
export type Parameters = Readonly<Record<string, string | undefined>>

/** Returns the API's parameters for a filter. An operand that looks like the beginning of an operator gets a `=` in front. */
function filterPairs({ name, sign, values }: Filter): [string, string][] {
  if (sign.startsWith('[')) return values.map((value) => [name + sign, value])
  const [value = ''] = values
  // The API would read `<` with the operand `=x` as `<=` with the operand `x`. So two filters replace it: `<=` and `!=`, both
  // with the operand `=x`.
  if (/^[<>]$/.test(sign) && value.startsWith('='))
    return [...filterPairs({ name, sign: `${sign}=`, values }), [name, `!=${value}`]]
  return [[name, sign === '=' && !/^[=<>]|^!=/.test(value) ? value : sign + value]]
}

/** Writes a path with a readable query string. */
export function printPath(path: string, filters: readonly Filter[], parameters: Parameters = {}): string {
  const encode = (text: string) => encodeURIComponent(text).replace(/%(?:3A|2C|5B|5D|2F|3D)/g, decodeURIComponent)
  const pairs = [...filters.flatMap(filterPairs), ...Object.entries(parameters)].flatMap(([name, value]) =>
    value === undefined ? [] : `${encode(name).replaceAll('=', '%3D')}=${encode(value)}`,
  )
  return pairs.length > 0 ? `${path}?${pairs.join('&')}` : path
}

/**
 * Returns the path of the list page that a view shows. `fields`: properties to read; undefined: the properties of the row itself.
 */
export function pagePath(plural: string, { filters, sort, size, page, cursor }: View, fields?: string): string {
  const paging = { PageSize: size, page, cursor: cursor || undefined }
  return printPath(plural, filters, { sort: sort.join(',') || undefined, fields, ...paging })
}

/** Writes the hash from which `readView` reads this view. */
export function printView(view: View): string {
  const own = PLAIN.filter((key) => view[key] !== DEFAULTS[key]).map((key) => [NAMES[key] ?? key, view[key]])
  const parameters = { sort: view.sort.join(',') || undefined, ...Object.fromEntries(own) }
  return printPath(`#/${encodeURIComponent(view.resource)}`, view.filters, parameters)
}

/** The current view, from the address. */
export const viewStore = new Store(readView(location.hash))

/** Returns a view with some parts changed. New filters, sorts or sizes lead back to the first page. */
export function changed(view: View, parts: Partial<View>): View {
  const isOther = parts.filters !== undefined || parts.sort !== undefined || parts.size !== undefined
  const isOtherSummary = isOther || ['show', 'by', 'and', 'groupSort'].some((name) => name in parts)
  // A form belongs to the row for which it was opened, so it closes when a different row opens.
  const isOtherRow = parts.row !== undefined && parts.row !== view.row
  return {
    ...view,
    ...(isOther ? { page: '1', cursor: '' } : {}),
    ...(isOtherSummary ? { groupPage: '1' } : {}),
    ...(isOtherRow ? { form: '' } : {}),
    ...parts,
  }
}

/** Shows the view with some parts changed; the browser's Back returns to the view before. */
export const change = (view: View, parts: Partial<View>) => go(changed(view, parts))

/** Shows a view. `isStep`: the browser's Back returns to the view that is shown now. */
export function go(view: View, isStep = true): void {
  const hash = printView(view)
  if (isStep) history.pushState(null, '', hash)
  else history.replaceState(null, '', hash)
  viewStore.set(view)
}
