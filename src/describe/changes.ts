// Change feed in the OpenAPI document: its parameters and schemas.
import { Type } from '@sinclair/typebox'
import type { Entity } from '../model/entity.ts'
import { CHANGES_PAGES, WAITS } from '../parse/changes.ts'
import { boundedInQuery, inQuery, listInQuery } from './parameters.ts'
import { objectSchema, oneOf, orNull, type Part, parameterRefs, type Schema, schemaRef, someOf } from './schema.ts'

const tokenSchema = (description?: string) =>
  Type.String({ ...(description === undefined ? {} : { description }), minLength: 1, pattern: '^[A-Za-z0-9_-]+$' })

export const changesParameters: Readonly<Record<string, Part>> = {
  ChangesAfter: inQuery(
    'after',
    'The token of a change, or `next` of a page: only later changes are returned. `now`: only a token for the current end. Default: from the first change that is kept.',
    tokenSchema(),
    'now',
  ),
  ChangesPageSize: boundedInQuery('PageSize', 'Changes of a page', CHANGES_PAGES, ' Refused with NDJSON.'),
  Wait: boundedInQuery(
    'wait',
    'Seconds to wait for a change if there is none',
    WAITS,
    ' If too many requests wait already, the response comes immediately. Refused with NDJSON.',
  ),
  ChangesRows: inQuery('rows', '`current`: each change has `row`, its row as it is now; null if it is gone.', oneOf(['current'])),
}

/** Parameters of `GET /Changes`. */
export function listChangesParameters(entities: readonly Entity[]): Part[] {
  const plurals = entities.map(({ plural }) => plural)
  const entity = listInQuery(
    'entity',
    'Only changes of these resources, whose names match in upper or lower case. Default: of all that you may read.',
    someOf(oneOf(plurals)),
  )
  return [{ ...entity, example: plurals.slice(0, 1) }, ...parameterRefs('ChangesAfter', 'ChangesPageSize', 'Wait', 'ChangesRows')]
}

/** Schemas of a page of changes, and of one change. */
export function changesSchemas(entities: readonly Entity[]): Record<string, Schema> {
  const own = {
    token: tokenSchema('Token for `after`, to continue after this change.'),
    entity: oneOf(entities.map(({ plural }) => plural)),
    id: Type.Integer({ format: 'int64', minimum: 1 }),
    action: schemaRef('ChangeAction'),
    at: Type.String({ format: 'date-time' }),
    key: orNull(
      Type.String({
        description:
          'The id of the key, or the pseudonym of the person, that made the change. Null: it was made past the service.',
      }),
    ),
    changed: Type.Array(Type.String(), {
      description: 'The properties whose values differ. None for a created or deleted row, unless the server keeps values.',
    }),
  }
  const values = Type.Unsafe({
    type: ['object', 'null'],
    description: 'The values of `changed` by their names, if the server keeps them.',
    // The schema of a value has no type. A value may be a text, a number, a boolean or null, but generators for Go accept no list
    // of types here.
    additionalProperties: true,
  })
  const next = tokenSchema('Token for `after`, to continue after this page.')
  const ofEntity = ({ name, plural }: Entity): Schema => {
    const description = 'The row as it is now, with `rows=current`; null if it is gone.'
    const row = Type.Union([schemaRef(name), Type.Null()], { description })
    return objectSchema({ ...own, entity: oneOf([plural]), row: Type.Optional(row) })
  }
  return {
    ChangeAction: oneOf(['create', 'update', 'delete']),
    Change: changeOfAny(entities),
    ...Object.fromEntries(entities.map((entity) => [changeOf(entity), ofEntity(entity)])),
    PastChange: objectSchema({ ...own, before: Type.Optional(values), after: Type.Optional(values) }),
    Changes: page('Change', next),
    History: page('PastChange', orNull(next)),
  }
}

const changeOf = ({ name }: Entity) => `${name}Change`

/**
 * Schema of a change of any entity. The name of the entity tells which schema applies, because a row may fit the schemas of
 * several entities.
 */
function changeOfAny(entities: readonly Entity[]): Schema {
  const mapping = Object.fromEntries(entities.map((entity) => [entity.plural, `#/components/schemas/${changeOf(entity)}`]))
  const alternatives = entities.map((entity) => schemaRef(changeOf(entity)))
  // TypeBox's union is an `anyOf`, which can have no discriminator.
  return Type.Unsafe({ oneOf: alternatives, discriminator: { propertyName: 'entity', mapping } })
}

function page(item: string, next: Schema): Schema {
  return objectSchema({
    changes: Type.Array(schemaRef(item), { maxItems: CHANGES_PAGES.max }),
    next,
    more: Type.Boolean({ description: 'Whether there is more by now.' }),
  })
}
