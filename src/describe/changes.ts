// Change feed in the OpenAPI document: its parameters and schemas.
import type { Entity } from '../model/entity.ts'
import { CHANGES_PAGES, WAITS } from '../parse/changes.ts'
import { objectSchema, parameterRefs, refTo, type Schema } from './headers.ts'
import { boundedInQuery, inQuery, listInQuery } from './parameters.ts'

const token: Schema = { type: 'string', minLength: 1, pattern: '^[A-Za-z0-9_-]+$' }

export const changesParameters: Readonly<Record<string, Schema>> = {
  ChangesAfter: inQuery(
    'after',
    'The token of a change, or `next` of a page: what has changed since. `now`: nothing but a token, behind all that has changed. Left out: from the first change that is kept.',
    token,
    'now',
  ),
  ChangesPageSize: boundedInQuery('PageSize', 'Changes of a page', CHANGES_PAGES, ' Refused with NDJSON.'),
  Wait: boundedInQuery(
    'wait',
    'Seconds to wait for a change where there is none',
    WAITS,
    ' Too many who wait are answered at once. Refused with NDJSON.',
  ),
  ChangesRows: inQuery('rows', '`current`: each change comes with `row`, its row as it is now; null: it is gone.', {
    type: 'string',
    enum: ['current'],
  }),
}

/** Parameters of `GET /Changes`. */
export function listChangesParameters(entities: readonly Entity[]): Schema[] {
  const plurals = entities.map(({ plural }) => plural)
  const schema = { minItems: 1, items: { type: 'string', enum: plurals } }
  const entity = listInQuery('entity', 'Only changes of these, in any case. Left out: of all that the key may read.', schema)
  return [{ ...entity, example: plurals.slice(0, 1) }, ...parameterRefs('ChangesAfter', 'ChangesPageSize', 'Wait', 'ChangesRows')]
}

/** Schemas of a page of changes, and of one change. */
export function changesSchemas(entities: readonly Entity[]): Record<string, Schema> {
  const own = {
    token: { ...token, description: 'For `after`: what lies behind this change.' },
    entity: named(...entities.map(({ plural }) => plural)),
    id: { type: 'integer', format: 'int64', minimum: 1 },
    action: refTo('schemas', 'ChangeAction'),
    at: { type: 'string', format: 'date-time' },
    key: {
      type: ['string', 'null'],
      description: 'The id of the key that has asked for it. Null: a write past the service.',
    },
    changed: {
      type: 'array',
      items: { type: 'string' },
      description:
        'The properties whose values differ. Of a row that was created or deleted none, unless the server keeps values.',
    },
  }
  const values: Schema = {
    type: ['object', 'null'],
    description: 'The values of `changed` by their names, where the server keeps them.',
    // No type: values may be texts, numbers, booleans or null, and generators for Go accept no list of types here.
    additionalProperties: true,
  }
  const ofEntity = ({ name, plural }: Entity): Schema => {
    const description = 'The row as it is now, with `rows=current`; null: it is gone.'
    const row = { description, anyOf: [refTo('schemas', name), { type: 'null' }] }
    return objectSchema({ ...own, entity: named(plural), row }, Object.keys(own))
  }
  return {
    ChangeAction: { type: 'string', enum: ['create', 'update', 'delete'] },
    Change: changeOfAny(entities),
    ...Object.fromEntries(entities.map((entity) => [changeOf(entity), ofEntity(entity)])),
    PastChange: objectSchema({ ...own, before: values, after: values }, Object.keys(own)),
    Changes: page('Change', token),
    History: page('PastChange', { ...token, type: ['string', 'null'] }),
  }
}

const changeOf = ({ name }: Entity) => `${name}Change`

function named(...plurals: readonly string[]): Schema {
  return { type: 'string', enum: plurals }
}

/** Schemas of changes by entity. The entity's name tells them apart: rows of one entity may fit the schema of another. */
function changeOfAny(entities: readonly Entity[]): Schema {
  const mapping = Object.fromEntries(entities.map((entity) => [entity.plural, `#/components/schemas/${changeOf(entity)}`]))
  const oneOf = entities.map((entity) => refTo('schemas', changeOf(entity)))
  return { oneOf, discriminator: { propertyName: 'entity', mapping } }
}

function page(item: string, next: Schema): Schema {
  return objectSchema({
    changes: { type: 'array', items: refTo('schemas', item), maxItems: CHANGES_PAGES.max },
    next: { ...next, description: 'For `after`: what comes behind this page.' },
    more: { type: 'boolean', description: 'Whether there is more by now.' },
  })
}
