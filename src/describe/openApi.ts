// OpenAPI document: assembles its paths and components from the other modules of this folder.
import { version } from '../../package.json'
import type { Access } from '../model/access.ts'
import { formatRules, type Rule } from '../model/limits.ts'
import { isNamedView } from '../model/namedView.ts'
import { collectionOf, hasEvents, hiddenNames, shownView } from './accesses.ts'
import { changesParameters, changesSchemas, listChangesParameters } from './changes.ts'
import { referredFrom } from './components.ts'
import { conditionSchemas } from './conditions.ts'
import { ErrorAnswers, errorExampleValues, errorSchemas } from './errorAnswers.ts'
import { describeResource, gettingStarted } from './guide.ts'
import { headerSchemas } from './headers.ts'
import { type Operation, operationsOf } from './operations.ts'
import {
  fieldSchema,
  fieldsParameter,
  filteredWriteParameters,
  inPath,
  listParameters,
  mayParameter,
  ownParameters,
  pathParameters,
  sharedParameters,
  sortSchema,
} from './parameters.ts'
import { rightsSchemas } from './rights.ts'
import { bodiesOf, rowSchema, writtenSchema } from './rows.ts'
import { type Part, parameterRefs, type Schema, schemaRef } from './schema.ts'
import { successesOf } from './successes.ts'
import { groupSchema, summaryParameters } from './summary.ts'

/** Facts about this server that the document contains. */
export interface ServerFacts {
  /** URL of the server without a slash at its end. */
  readonly baseUrl: string
  /** Limits of a key that has no limits of its own. */
  readonly limits: readonly Rule[]
  /** Limits of requests without a key. */
  readonly anonymousLimits: readonly Rule[]
  /** Limits of a person; undefined or null: the server takes no tokens of persons. */
  readonly personLimits?: readonly Rule[] | null
  /** True if the document itself needs a key. */
  readonly documentNeedsKey: boolean
}

export type OpenApi = ReturnType<typeof describeApi>

const PAGES_TAG = 'Server'
const CHANGES_TAG = 'Changes'
const RIGHTS_TAG = 'Rights'

/** Security scheme of the tokens of persons. */
const BEARER = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'JWT',
  description: 'An access token of the company’s identity provider, which it has made for this server.',
} as const

/**
 * Returns the OpenAPI 3.1 document for a key: what the key may do, and nothing else. `accesses`: the key's access to each entity,
 * and to each named view that it may read. The document depends only on the accesses, the operators, the errors and `facts`.
 */
export function describeApi(accesses: readonly Access[], facts: ServerFacts) {
  const errors = new ErrorAnswers()
  const operations = operationsOf(accesses, facts.documentNeedsKey)
  const views = accesses.flatMap(({ read }) => read ?? [])
  const paths = pathsOf(operations, errors, accesses)
  const takesTokens = Boolean(facts.personLimits)
  return {
    openapi: '3.1.1',
    info: {
      title: 'Roster',
      version,
      summary: 'An HTTP API for people data: filtered, sorted, paged lists with exact totals, and full CRUD.',
      description: `${gettingStarted(views, facts.baseUrl)}\n\n${describeServer(facts)}`,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: facts.baseUrl }],
    security: takesTokens ? [{ ApiKey: [] }, { Bearer: [] }] : [{ ApiKey: [] }],
    tags: [
      ...tagsOf(accesses),
      { name: RIGHTS_TAG, description: 'What you may do.' },
      { name: PAGES_TAG, description: 'The pages of the server itself, which need no key.' },
    ],
    paths,
    components: {
      securitySchemes: {
        ApiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'Authorization',
          description: 'The word `ApiKey`, a space, and the key: `ApiKey roster_…`',
        },
        ...(takesTokens && { Bearer: BEARER }),
      },
      ...referredFrom(
        {
          schemas: schemasOf(accesses),
          parameters: Object.assign(
            {},
            sharedParameters,
            changesParameters,
            ...views.map(pathParameters),
            ...views.map(ownParameters),
            ...accesses.map(mayParameter),
          ),
          headers: headerSchemas(facts.limits, facts.baseUrl, takesTokens),
          responses: errors.components,
          examples: errorExampleValues(operations, facts.baseUrl, hiddenNames(accesses)),
        },
        paths,
      ),
    },
  }
}

/**
 * Returns a tag for each resource to which the key has a right, and one for the change feed. If the key may read a resource, its
 * tag has examples.
 */
function tagsOf(accesses: readonly Access[]): Part[] {
  const resources = accesses.flatMap((access) => {
    const { read, create, update } = access
    const { plural: name } = collectionOf(access)
    if (read) return [{ name, description: describeResource(read) }]
    return create || update || access.delete ? [{ name, description: 'You may not read these rows.' }] : []
  })
  const changes = { name: CHANGES_TAG, description: 'What has changed in all resources, in order and without gaps.' }
  return [...resources, ...(accesses.some(hasEvents) ? [changes] : [])]
}

function describeServer({ limits, anonymousLimits, personLimits }: ServerFacts): string {
  const persons = personLimits
    ? ` People who sign in with the company’s identity provider send its token instead, \`Authorization: Bearer <token>\`, and have ${formatRules(personLimits)} each.`
    : ''
  return [
    '## Requests',
    'Every property of a resource filters and sorts its list; an operator stands in front of a filter’s value, as in `Start=>=2026-03-01T00:00:00Z`, percent-encoded in an address. Names of parameters and paths match in upper or lower case.',
    `Every request needs a key, \`Authorization: ApiKey <key>\`. A key has limits, ${formatRules(limits)} unless it has its own; requests without one have ${formatRules(anonymousLimits)} for each address.${persons} Answers say what is left.`,
    'Every path with GET has HEAD, with the same headers and no body, and every path has OPTIONS, 204 with `Allow`. These follow from HTTP, and are not listed. A method that a path lacks is 405 `MethodNotAllowed` with `Allow`; an unknown path is 404 `NotFound`.',
  ].join('\n\n')
}

function pathsOf(operations: readonly Operation[], errors: ErrorAnswers, accesses: readonly Access[]): Record<string, Part> {
  const byPath = Map.groupBy(operations, ({ path }) => path)
  const paths = [...byPath].map(([path, ofPath]) => {
    const own = ofPath.map((operation) => [operation.method.toLowerCase(), operationSchema(operation, errors, accesses)])
    return [path, { parameters: parametersInPath(path), ...Object.fromEntries(own) }]
  })
  return Object.fromEntries(paths)
}

function parametersInPath(path: string): Part[] {
  const code = inPath('code', 'The code, in upper or lower case.', schemaRef('ErrorCode'), 'NotFound')
  const own = path.includes('/{id}') ? parameterRefs('Id') : path.endsWith('/{code}') ? [code] : []
  return [...own, ...parameterRefs('RequestId')]
}

function operationSchema(operation: Operation, errors: ErrorAnswers, accesses: readonly Access[]): Part {
  const { operationId, summary, description, isOpen } = operation
  const responses = { ...successesOf(operation), ...errors.of(operation) }
  const parameters = parametersOf(operation, '304' in responses, accesses)
  return {
    operationId,
    summary,
    description,
    tags: [tagOf(operation)],
    ...(isOpen && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(operation.body === null ? {} : { requestBody: requestBody(operation.body, operation) }),
    responses,
  }
}

function tagOf({ entity, success }: Operation): string {
  if (entity) return entity.plural
  return success === 'changes' ? CHANGES_TAG : success === 'rights' ? RIGHTS_TAG : PAGES_TAG
}

function parametersOf({ entity, success, method }: Operation, isConditional: boolean, accesses: readonly Access[]): Part[] {
  if (success === 'changes') return listChangesParameters(accesses.filter(hasEvents).map(({ whole }) => whole))
  if (success === 'history') return parameterRefs('ChangesAfter', 'ChangesPageSize')
  if (entity === null) return isConditional ? parameterRefs('PageIfNoneMatch') : []
  if (success === 'updatedRows' || success === 'deletedRows') return filteredWriteParameters(entity)
  if (method !== 'GET') return parameterRefs(...(method === 'POST' ? [] : ['IfMatch']), 'IdempotencyKey')
  const own = { list: listParameters, summary: summaryParameters, row: fieldsParameter }[success as 'list' | 'summary' | 'row']
  return [own(entity), parameterRefs('IfNoneMatch')].flat()
}

/** Request body of one row. Arrays of rows have no schema: with "a row or an array", generated clients send both wrongly. D59 */
function requestBody(name: string, { method, success }: Operation): Part {
  const rows = method === 'POST' ? ' An array of 1 to 1,000 of them, of up to 2 MiB, is accepted, too.' : ''
  const description = `One JSON object in UTF-8, not compressed, of up to 1 MiB; \`application/<any>+json\` is accepted, too.${rows}`
  // A PATCH of several rows that sets nothing is refused.
  const schema = success === 'updatedRows' ? { ...schemaRef(name), minProperties: 1 } : schemaRef(name)
  return { required: true, description, content: { 'application/json': { schema } } }
}

function schemasOf(accesses: readonly Access[]): Record<string, Schema> {
  const kinds = accesses.flatMap(({ read }) => (read?.properties ?? []).map(({ kind }) => kind))
  const own = accesses.map((access) => {
    const collection = collectionOf(access)
    const { name } = collection
    const entity = shownView(access)
    return {
      // References name entities. For a named view, `x-rows-of` names the entity whose rows the view shows.
      [name]: isNamedView(collection) ? { ...rowSchema(entity), 'x-rows-of': collection.base.name } : rowSchema(entity),
      [`${name}Written`]: writtenSchema(entity),
      ...bodiesOf(access).schemas,
      [`${name}Sort`]: sortSchema(entity),
      [`${name}Field`]: fieldSchema(entity),
      [`${name}Group`]: groupSchema(entity),
    }
  })
  const changes = changesSchemas(accesses.filter(hasEvents).map(({ whole }) => whole))
  return Object.assign({}, ...own, changes, rightsSchemas, conditionSchemas(kinds), errorSchemas)
}
