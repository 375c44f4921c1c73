// The history of a row: when it was changed, by whom, and, if the server keeps values, from which values to which.
import { readJson, send, useAnswer } from './api.ts'
import { formatCount, formatDate, formatValue } from './format.ts'
import { zoneLabel } from './readerZone.ts'
import { findNamed, type Property, plainValue, type Resource, roleOf } from './resources.ts'
import { sessionStore } from './session.ts'
import { writesStore } from './writes.ts'

interface Change {
  readonly token: string
  readonly action: string
  readonly at: string
  readonly key: string | null
  readonly changed: readonly string[]
  /** Values by the names of properties; undefined if the server keeps no values. */
  readonly before?: Values
  readonly after?: Values
}
type Values = Readonly<Record<string, string | number | boolean | null>>

const CHANGES_PAGE = 500
const CHANGES_SHOWN = 100
/** Maximum pages to read. The first page has the oldest changes, so the latest changes of a long history are not read. */
const PAGES_MAX = 20
const ACTIONS: Readonly<Record<string, string>> = { create: 'Created', update: 'Changed', delete: 'Deleted' }

interface History {
  /** The last `CHANGES_SHOWN` of the changes that were read, the latest first. */
  readonly changes: readonly Change[]
  /** True if there are later changes, which were not read. */
  readonly isCut: boolean
}

/** Returns a function that reads a history, up to `PAGES_MAX` pages. The function takes the response with the first page. */
function readChanges(path: string) {
  return async (response: Response): Promise<History> => {
    let { changes, next, more } = await readJson(response)
    for (let pages = 1; more && pages < PAGES_MAX; pages++) {
      const page = await readJson(await send(`${path}?PageSize=${CHANGES_PAGE}&after=${next}`))
      changes = [...changes, ...page.changes].slice(-CHANGES_SHOWN)
      next = page.next
      more = page.more
    }
    return { changes: changes.slice(-CHANGES_SHOWN).toReversed(), isCut: more }
  }
}

/** List of the changes of a row; nothing if the server has none. */
export function Changes({ path, resource: { properties } }: { readonly path: string; readonly resource: Resource }) {
  const { answer } = useAnswer(`${path}?PageSize=${CHANGES_PAGE}`, readChanges(path), String(writesStore.value))
  if (!answer?.changes.length) return null
  return (
    <>
      <h3>
        Changes <small>{zoneLabel()}</small>
      </h3>
      {answer.isCut && (
        <p class="count">This row has more than {formatCount(PAGES_MAX * CHANGES_PAGE)} changes; newer ones are left out.</p>
      )}
      <ol>
        {answer.changes.map((change) => (
          <li key={change.token}>
            {formatDate('instant', change.at)}: {ACTIONS[change.action] ?? change.action}{' '}
            <span class="count">{authorOf(change.key)}</span>
            <Values change={change} properties={properties} />
          </li>
        ))}
      </ol>
    </>
  )
}

/**
 * Returns who has made a change. `key`: id of an API key, or pseudonym of a person; null: another program wrote to the database.
 */
function authorOf(key: string | null): string {
  if (key === null) return 'by another program'
  if (key === ownKeyId()) return 'by you'
  return key.startsWith('person-') ? 'by a person' : `by key ${key}`
}

/** Returns the id that is a part of the reader's API key; undefined if the reader has signed in as a person. */
function ownKeyId(): string | undefined {
  return /^ApiKey roster_(\w{10})_/.exec(sessionStore.value.session?.authorization ?? '')?.[1]
}

/** Values before and after a change; if the server keeps no values, only the names of the properties. */
function Values({ change, properties }: { readonly change: Change; readonly properties: readonly Property[] }) {
  const { action, changed, before, after } = change
  const shown = changed.flatMap((name) => {
    const property = findNamed(properties, name)
    // A new reference also changes the name that is copied from its row. Only the name is shown, because it says more than the
    // id.
    const isNamed = properties.some((one) => one.copiedThrough === property?.name && changed.includes(one.name))
    return isNamed ? [] : [{ name, property, label: roleOf(property?.label ?? name) }]
  })
  if (shown.length === 0) return null
  if (!before || !after) return <span> {shown.map(({ label }) => label).join(', ')}</span>
  return (
    <ul>
      {shown.map(({ name, property, label }) => (
        <li key={name}>
          {label}:{' '}
          {action === 'update' && (
            <>
              <bdi>{valueText(property, before[name])}</bdi> →{' '}
            </>
          )}
          <bdi>{valueText(property, (action === 'delete' ? before : after)[name])}</bdi>
        </li>
      ))}
    </ul>
  )
}

function valueText(property: Property | undefined, value: Values[string] | undefined): string {
  if (value === null || value === undefined || value === '') return 'no value'
  const plain = plainValue(value) as string
  return property ? formatValue(property, plain) : plain
}
