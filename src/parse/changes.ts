// The query string of the change feed, as a typed query.
import { ApiError } from '../errors.ts'
import { type ChangesToken, readToken } from '../model/changesToken.ts'
import type { Entity } from '../model/entity.ts'
import { excerpt } from '../model/excerpt.ts'
import { suggest } from '../model/nearest.ts'
import { plain } from './names.ts'
import { type Bounds, parseInteger, readNamed } from './parameters.ts'

/** Least, greatest and default `PageSize` of `/Changes`. */
export const CHANGES_PAGES: Bounds = { min: 1, max: 500, normal: 100 }
/** Least, greatest and default time that a request waits for an event, in seconds. */
export const WAITS: Bounds = { min: 0, max: 30, normal: 0 }

export interface ChangesQuery {
  /** Position after which events are read. Null: the start of the feed; `now`: its current end. */
  readonly after: ChangesToken | 'now' | null
  /** Entities whose events are read; null: all. */
  readonly entities: readonly Entity[] | null
  readonly pageSize: number
  readonly waitMs: number
  /** True if each event includes the current state of its row. D73 */
  readonly hasRows: boolean
}

/** Error code for a repeated parameter of a row's history, by parameter. */
const CODES_OF_ROW = { after: 'InvalidToken', PageSize: 'InvalidPageSize' } as const
/** Error code for a repeated parameter of the change feed, by parameter. Null: the repeated values are joined by commas. */
const CODES = { ...CODES_OF_ROW, entity: null, wait: 'InvalidWait', rows: 'InvalidForm' } as const

/**
 * Parses a query of the change feed, or of one row's history if `entities` is null. `isStream`: true if the events are to be
 * streamed; `read`: function that reads a token. @throws ApiError
 */
export function parseChanges(
  query: string,
  entities: readonly Entity[] | null,
  isStream = false,
  read: typeof readToken = readToken,
): ChangesQuery {
  const codes = entities === null ? CODES_OF_ROW : CODES
  const fault = (name: string) => `Changes have no parameter "${excerpt(name)}".${hintFor(name, Object.keys(codes))}`
  const given: Partial<Record<keyof typeof CODES, string>> = readNamed(query, codes, fault)
  for (const name of isStream ? (['PageSize', 'wait'] as const) : [])
    if (given[name] !== undefined) {
      const message = `A stream has no pages, and waits by itself: leave ${name} out, or ask for application/json.`
      throw new ApiError(CODES[name], message, { target: name })
    }
  const { after, entity = null, PageSize, wait, rows } = given
  return {
    after: after === undefined ? null : parseAfter(after, read),
    entities: parseEntities(entity, entities ?? []),
    pageSize: isStream ? CHANGES_PAGES.max : parseInteger(CODES.PageSize, 'PageSize', PageSize, CHANGES_PAGES),
    waitMs: 1_000 * parseInteger(CODES.wait, 'wait', wait, WAITS),
    hasRows: parseRows(rows),
  }
}

/** Names that other change feeds use for these parameters. */
const OTHER_NAMES = new Map(
  Object.entries({
    after: 'since from cursor token offset startingAfter sinceId lastEventId',
    PageSize: 'limit perPage size top',
    entity: 'collection resource type table filter',
    wait: 'timeout block longPoll',
  }).flatMap(([name, others]) => others.split(' ').map((other) => [plain(other), name] as const)),
)

function hintFor(name: string, known: readonly string[]): string {
  const meant = OTHER_NAMES.get(plain(name))
  return meant !== undefined && known.includes(meant) ? ` Did you mean ${meant}?` : suggest(name, known)
}

function parseRows(text: string | undefined): boolean {
  if (text === undefined || text.toLowerCase() === 'current') return text !== undefined
  throw new ApiError('InvalidForm', 'rows is current, or left out.', { target: 'rows' })
}

function parseAfter(text: string, read: typeof readToken): ChangesToken | 'now' {
  if (text.toLowerCase() === 'now') return 'now'
  const token = read(text)
  if (token) return token
  const message = 'after is the token of a change, next of a page, or now; this is none, or was altered.'
  throw new ApiError('InvalidToken', message, { target: 'after' })
}

function parseEntities(text: string | null, entities: readonly Entity[]): readonly Entity[] | null {
  if (text === null) return null
  const found = text.split(',').map((part) => {
    const entity = entities.find(({ plural }) => plural.toLowerCase() === part.trim().toLowerCase())
    if (entity) return entity
    const plurals = entities.map(({ plural }) => plural)
    const hint = suggest(part, plurals) || ` There are ${plurals.join(', ')}.`
    throw new ApiError('InvalidFilter', `entity names no entity: "${excerpt(part)}".${hint}`, { target: 'entity' })
  })
  return entities.filter((entity) => found.includes(entity))
}
