// Tools of a view: its request as curl, a download as CSV, the choice of columns.
import { useEffect, useRef, useState } from 'preact/hooks'
import { Problem, send } from './api.ts'
import { Button, Hint, Menu } from './controls.tsx'
import { formatCount } from './format.ts'
import { say } from './notices.tsx'
import { allProperties, type Property, type Resource } from './resources.ts'
import { sessionStore } from './session.ts'
import { keepText, readText } from './storage.ts'

/**
 * Returns a curl command for a request. The key or the token comes from a shell variable, so that the text does not contain it.
 */
export function curl(url: string): string {
  const credential = sessionStore.value.session?.kind === 'person' ? 'Bearer $ROSTER_TOKEN' : 'ApiKey $ROSTER_KEY'
  return `curl -g -H "Authorization: ${credential}" '${url.replaceAll("'", '%27')}'`
}

interface DownloadProps {
  /**
   * Path of the download for programs: all properties of the rows, and the shown properties of related rows, in the API's format.
   */
  readonly path: string
  readonly name: string
  /**
   * Returns the path of the download for spreadsheets: the shown columns, in the format of a locale. Without a locale, decimals
   * have points, and commas separate cells.
   */
  excelPath(locale: string | undefined): string
}

/** Downloads all rows as CSV, for a spreadsheet or for programs; the button counts rows, and can stop it. */
export function Download({ path, name, excelPath }: DownloadProps) {
  const [state, setState] = useState<{ rows: number; stop: AbortController } | null>(null)
  const [fault, setFault] = useState('')
  const frame = useRef<HTMLSpanElement>(null)
  const isUsed = useRef(false)
  useEffect(() => {
    // The button that had the focus is gone, so the focus moves to the new one.
    if (isUsed.current && document.activeElement === document.body)
      frame.current?.querySelector<HTMLElement>('button, summary')?.focus()
  }, [state === null])
  const start = async (paths: readonly string[]) => {
    const stop = new AbortController()
    isUsed.current = true
    setFault('')
    setState({ rows: 0, stop })
    try {
      const { body } = await sendFirst(paths, { headers: { Accept: 'text/csv' }, signal: stop.signal })
      save(await collect(body as ReadableStream<Uint8Array<ArrayBuffer>>, (rows) => setState({ rows, stop })), `${name}.csv`)
      say(`Saved ${name}.csv`)
    } catch (error) {
      if (!stop.signal.aborted) setFault(error instanceof Problem ? error.message : 'The download broke off: nothing was saved.')
    }
    setState(null)
  }
  return (
    <span class="whole" ref={frame}>
      {state ? (
        <Button label={`${formatCount(state.rows)} rows – Stop`} onClick={() => state.stop.abort()} />
      ) : (
        <Menu label="Download CSV">
          <li>
            <Button label="For Excel" onClick={() => start(localesOf(navigator.languages).map(excelPath))} />
            <small>What is shown, with the dates, decimals and separators of a spreadsheet in your language.</small>
          </li>
          <li>
            <Button label="For programs" onClick={() => start([path])} />
            <small>All columns, and of other rows those that are shown, as the API writes them.</small>
          </li>
        </Menu>
      )}
      {fault && <Hint text={fault} />}
    </span>
  )
}

/** Maximum locales to try; the server may know fewer languages than the browser. */
const LOCALES_MAX = 4

/**
 * Returns values of `locale` to try, the best first. The last is `undefined`, for a request without a locale. A language whose
 * decimal mark is neither comma nor point is tried with Latin digits, the only ones that the API writes.
 */
function localesOf(languages: readonly string[]): (string | undefined)[] {
  const found = languages.flatMap((one) => [one, `${one}-u-nu-latn`].find(hasCommaOrPoint) ?? [])
  return [...found.slice(0, LOCALES_MAX), undefined]
}

function hasCommaOrPoint(language: string): boolean {
  try {
    return /[.,]/.test(new Intl.NumberFormat(language).format(1.5))
  } catch {
    // The browser names a language by a tag that is not valid.
    return false
  }
}

/** Sends a request to the first path whose `locale` the server knows. @throws Problem */
async function sendFirst([path = '', ...others]: readonly string[], options: RequestInit): Promise<Response> {
  try {
    return await send(path, options)
  } catch (error) {
    if (others.length > 0 && error instanceof Problem && error.target === 'locale') return sendFirst(others, options)
    throw error
  }
}

const QUOTE = '"'.charCodeAt(0)
const LINE_END = '\n'.charCodeAt(0)

/** Collects the bytes of a CSV, and reports its number of rows so far: lines outside of quotes, without the header. */
async function collect(stream: ReadableStream<Uint8Array<ArrayBuffer>>, count: (rows: number) => void): Promise<Blob> {
  const pieces: Uint8Array<ArrayBuffer>[] = []
  let lines = -1
  let isQuoted = false
  const reader = stream.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return new Blob(pieces, { type: 'text/csv' })
    pieces.push(value)
    for (const byte of value) {
      if (byte === QUOTE) isQuoted = !isQuoted
      else if (byte === LINE_END && !isQuoted) lines++
    }
    count(Math.max(0, lines))
  }
}

function save(blob: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}

const columnsKey = (plural: string) => `roster.columns.${plural}`

/** True if this browser stores columns for the resource. */
export const hasKeptColumns = (plural: string) => readText('localStorage', columnsKey(plural)) !== null

/**
 * Returns the columns that this browser stores for a resource. The default is all properties of its rows, except a reference
 * whose copied name is a column, too.
 */
export function keptColumns(resource: Resource): readonly Property[] {
  const { properties } = resource
  // A stored text may be anything, so only names of the resource's properties are taken from it.
  const names = new Set(readText('localStorage', columnsKey(resource.plural))?.match(/[\w.]+/g))
  const all = allProperties(resource)
  const kept = [...names].flatMap((name) => all.find((property) => property.name === name) ?? [])
  return kept.length > 0 ? kept : properties.filter(({ name }) => !properties.some(({ copiedThrough }) => copiedThrough === name))
}

interface ColumnsProps {
  readonly resource: Resource
  readonly columns: readonly Property[]
  setColumns(columns: readonly Property[]): void
}

/** Chooses columns and their order. */
export function Columns({ resource, columns, setColumns }: ColumnsProps) {
  const keep = (next: readonly Property[]) => {
    if (next.length === 0) return
    keepText('localStorage', columnsKey(resource.plural), JSON.stringify(next.map(({ name }) => name)))
    setColumns(next)
  }
  const rest = allProperties(resource).filter((property) => !columns.includes(property))
  const mover = (label: string, name: string, from: number, to: number) => {
    const move = () => keep(columns.toSpliced(from, 1).toSpliced(to, 0, columns[from] as Property))
    return <Button class="" label={label} aria-label={name} disabled={to < 0 || to === columns.length} onClick={move} />
  }
  return (
    <Menu label="Columns">
      {[...columns, ...rest].map((property, index) => (
        <li key={property.name}>
          <label>
            <input
              type="checkbox"
              checked={index < columns.length}
              onChange={() => keep(index < columns.length ? columns.toSpliced(index, 1) : [...columns, property])}
            />{' '}
            {property.label}
          </label>
          {index < columns.length && (
            <span>
              {mover('↑', `Move ${property.label} forward`, index, index - 1)}
              {mover('↓', `Move ${property.label} back`, index, index + 1)}
            </span>
          )}
        </li>
      ))}
    </Menu>
  )
}
