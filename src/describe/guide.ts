// Markdown texts of the OpenAPI document: getting started, filters of other APIs, and example queries of each resource.
import type { Entity, Property } from '../model/entity.ts'
import type { KindName } from '../model/kinds.ts'
import type { View } from '../model/view.ts'
import { describePaths } from './related.ts'

/** A query string before percent-encoding, and what it finds. */
interface ExampleQuery {
  readonly query: string
  readonly meaning: string
}

/** Returns Markdown for getting started. `baseUrl`: URL of the server without a slash at its end. */
export function gettingStarted(entities: readonly Entity[], baseUrl: string): string {
  return `## Getting started

1. Get a key from the operator of this server. For development, \`npm start\` keeps one in \`.data/development.key\`.
2. In [the docs](${baseUrl}/docs), type it after \`ApiKey \` under *Authentication*. Then press *Test Request* next to any operation.
   Type a filter into its row, with the operator in front, as in \`>=2\`; for a range, add a row with the same name.
3. Or send a request from a shell. \`-G\` with \`--data-urlencode\` encodes filters, since no address may hold \`<\` or \`>\` as they are:

\`\`\`sh
${firstRequest(entities, baseUrl)}
\`\`\`

${otherApis(entities)}

Each resource below begins with examples of its filters and sorts. Each [error](${baseUrl}/errors) has a page, to which its
\`Reference\` leads.`
}

/**
 * Returns a table that translates filters and paging of other APIs into parameters of this API, with properties of the entities
 * as examples.
 */
function otherApis(entities: readonly Entity[]): string {
  const others = entities.flatMap(({ properties, id }) => properties.filter((property) => property !== id))
  const text = others.find(({ kind }) => kind.isFreeText)?.name ?? 'Name'
  const date = others.find(({ kind }) => kind.temporal !== null)?.name ?? 'Id'
  const lower = (name: string) => name.charAt(0).toLowerCase() + name.slice(1)
  const word = lower(text)
  const day = lower(date)
  const since = date === 'Id' ? '2' : '2026-01-01T00:00:00Z'
  const rows = `
${word}=eq.A | filter[${word}][_eq]=A | $filter=${word} eq 'A' | filters[${word}][$eq]=A | ${text}=A
${word}=in.(A,B) | filter[${word}][_in]=A,B | ${word} in ('A','B') | filters[${word}][$in][0]=A | ${text}[]=A&${text}[]=B
${word}=ilike.*a* | filter[${word}][_icontains]=a | contains(${word},'a') | filters[${word}][$containsi]=a | ${text}[contains]=a
${word}=is.null | filter[${word}][_null]=true | ${word} eq null | filters[${word}][$null]=true | ${text}=
${day}=gte.${since} | filter[${day}][_gte]=${since} | ${day} ge ${since} | filters[${day}][$gte]=${since} | ${date}=>=${since}
order=${day}.desc | sort=-${day} | $orderby=${day} desc | sort=${day}:desc | sort=-${date}
limit=50&offset=50 | limit=50&page=2 | $top=50&$skip=50 | pagination[page]=2 | PageSize=50&page=2`
  const lines = rows.trim().replaceAll(' | ', '` | `').replace(/.+/g, '| `$&` |')
  return `### Coming from another API

| PostgREST | Directus | OData | Strapi | here |
|---|---|---|---|---|
${lines}`
}

/** Returns a curl command for a list, quoted for POSIX shells: the URL may have any visible character, also a single quote. */
export function firstRequest([first]: readonly Entity[], baseUrl: string): string {
  if (first === undefined) return `curl -i ${quoted(baseUrl)}`
  const queries = exampleQueries(first)
  // Splits at `&` only before a parameter: a range is two parameters, and a value may have `&` in it.
  const parameters = [queries[0], queries.at(-1)].flatMap((one) => one?.query.split(/&(?=[\w.]+(?:\[\])?=)/) ?? [])
  const options = parameters.map((parameter) => ` \\\n  --data-urlencode ${quoted(parameter)}`)
  return `curl -i -G ${quoted(`${baseUrl}/${first.plural}`)} \\\n  -H 'Authorization: ApiKey <key>'${options.join('')}`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** Returns Markdown about a resource and the parameters of its list. */
export function describeResource(view: View): string {
  const rows = exampleQueries(view).map(({ query, meaning }) => `| \`${query}\` | ${meaning} |`)
  const isView = view.collection !== view.whole
  return `${isView ? 'Rows that can only be read, without changes of their own. ' : ''}Filters and sorts, before they are percent-encoded; several filters are joined by \`&\`:

| query | rows |
|---|---|
${rows.join('\n')}

${describePaths(view)}`.trim()
}

/** Returns example queries: filters for each kind of property that the entity has, and at the end a sort. */
export function exampleQueries({ properties, id }: Entity): ExampleQuery[] {
  const others = properties.filter((property) => property !== id)
  const isName = ({ name }: Property) => name.endsWith('Name')
  // Names make clearer examples than numbers or titles.
  const candidates = [...others.filter(isName), ...others.filter((property) => !isName(property))]
  const filters = candidates
    .filter((property, index) => candidates.findIndex((other) => likenessOf(other) === likenessOf(property)) === index)
    .flatMap(filtersOf)
  return [...(filters.length > 0 ? filters : [{ query: `${id.name}=1`, meaning: `${id.name} is 1` }]), sortOf(others, id)]
}

/**
 * Returns a text to group properties by. Properties with the same text have the same filters, so the examples show only one of
 * them.
 */
function likenessOf({ kind, examples, reference }: Property): string {
  return `${kind.name} ${examples.length > 0} ${reference !== null}`
}

function filtersOf({ name, kind, examples, reference }: Property): ExampleQuery[] {
  const [example = kind.values?.[0], other = kind.values?.[1]] = examples
  if (example !== undefined)
    return [
      { query: `${name}=${example}`, meaning: `${name} is ${example}, in this spelling` },
      ...(other === undefined
        ? []
        : [{ query: `${name}[]=${example}&${name}[]=${other}`, meaning: `${name} is ${example} or ${other}` }]),
      { query: `${name}=!=${example}`, meaning: `${name} is anything else, or has no value` },
    ]
  if (reference !== null) return [{ query: `${name}=1`, meaning: `those of the ${reference.entity} with id 1` }]
  return filtersByKind[kind.name](name)
}

/** Examples of filters by kind, for properties without examples of their own. */
const filtersByKind: Readonly<Record<KindName, (name: string) => ExampleQuery[]>> = {
  integer: (name) => [{ query: `${name}=1`, meaning: `${name} is 1` }],
  oneOf: (name) => [{ query: `${name}=!=`, meaning: `${name} has a value; \`${name}=\` finds the others` }],
  text: (name) => [
    { query: `${name}=>=M`, meaning: `${name} is M or comes after it, as people order names` },
    { query: `${name}[contains]=a`, meaning: `${name} contains a, whatever case and accents; with [begins] it begins with a` },
    { query: `${name}=!=`, meaning: `${name} has a value; \`${name}=\` finds the others` },
  ],
  json: (name) => [{ query: `${name}=!=`, meaning: `${name} has a value; \`${name}=\` finds the others` }],
  uuid: (name) => [{ query: `${name}=`, meaning: `${name} has no value; \`${name}=!=\` finds the others` }],
  boolean: (name) => [{ query: `${name}=true`, meaning: `${name} is true` }],
  decimal: (name) => [{ query: `${name}=>2.5`, meaning: `${name} is more than 2.5` }],
  date: (name) => [{ query: `${name}=>=2026-01-01&${name}=<2027-01-01`, meaning: `${name} is a day of the year 2026` }],
  instant: (name) => {
    const query = `${name}=>=2020-01-01T00:00:00Z&${name}=<2027-01-01T00:00:00Z`
    return [{ query, meaning: `${name} is in the years 2020 to 2026, in UTC` }]
  },
}

/** Returns a query that sorts by a date, the latest first. If the entity has no date, the query sorts by the first property. */
function sortOf(properties: readonly Property[], id: Property): ExampleQuery {
  const latest = properties.find(({ kind }) => kind.temporal !== null)
  const first = properties.find((property) => property !== latest) ?? id
  if (latest === undefined) return { query: `sort=-${first.name}`, meaning: `by ${first.name}, descending` }
  return { query: `sort=-${latest.name},${first.name}`, meaning: `the latest ${latest.name} first, then by ${first.name}` }
}
