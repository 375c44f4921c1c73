// OpenAPI document: assembles its paths and components from the other modules of this folder.
import { version } from '../../package.json'
import type { Entity } from '../model/entity.ts'
import { formatRules, type Rule } from '../model/limits.ts'
import { changesParameters, changesSchemas, listChangesParameters } from './changes.ts'
import { conditionSchemas } from './conditions.ts'
import { ErrorAnswers, errorExampleValues, errorSchemas } from './errorAnswers.ts'
import { describeResource, gettingStarted } from './guide.ts'
import { headerSchemas } from './headers.ts'
import { type Operation, operationsOf } from './operations.ts'
import { fieldSchema, fieldsParameter, inPath, listParameters, sharedParameters, sortSchema } from './parameters.ts'
import { completeSchema, rowSchema, writeSchema, writtenSchema } from './rows.ts'
import { type Part, parameterRefs, type Schema, schemaRef } from './schema.ts'
import { successesOf } from './successes.ts'
import { groupSchema, summaryParameters } from './summary.ts'

/** Facts about this server that the document contains. */
export interface ServerFacts {
  /** URL of the server without a slash at its end. */
  readonly baseUrl: string
  /** Limits of a key without its own, and of requests without a key. */
  readonly limits: readonly Rule[]
  readonly anonymousLimits: readonly Rule[]
}

export type OpenApi = ReturnType<typeof describeApi>

const PAGES_TAG = 'Server'
const CHANGES_TAG = 'Changes'

/** Returns the OpenAPI 3.1 document. It depends only on the entities, the operators, the errors and these facts. */
export function describeApi(entities: readonly Entity[], facts: ServerFacts) {
  const errors = new ErrorAnswers()
  const operations = operationsOf(entities)
  const paths = pathsOf(operations, errors, entities)
  return {
    openapi: '3.1.1',
    info: {
      title: 'Roster',
      version,
      summary: 'An HTTP API for people data: filtered, sorted, paged lists with exact totals, and full CRUD.',
      description: `${gettingStarted(entities, facts.baseUrl)}\n\n${describeServer(facts)}`,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: facts.baseUrl }],
    security: [{ ApiKey: [] }],
    tags: [
      ...entities.map((entity) => ({ name: entity.plural, description: describeResource(entity) })),
      { name: CHANGES_TAG, description: 'What has changed in all resources, in order and without gaps.' },
      { name: PAGES_TAG, description: 'What the server answers of itself, without a key.' },
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
      },
      schemas: schemasOf(entities),
      parameters: { ...sharedParameters, ...changesParameters },
      headers: headerSchemas(facts.limits, facts.baseUrl),
      responses: errors.components,
      examples: errorExampleValues(operations, facts.baseUrl),
    },
  }
}

function describeServer({ limits, anonymousLimits }: ServerFacts): string {
  return [
    '## Requests',
    'Every property of a resource filters and sorts its list; an operator stands in front of a filter’s value, as in `Start=>=2026-03-01T00:00:00Z`, percent-encoded in an address. Names of parameters and paths match in any case.',
    `Every request carries a key, \`Authorization: ApiKey <key>\`. A key has limits, ${formatRules(limits)} unless it has its own; requests without one have ${formatRules(anonymousLimits)} for each address. Answers say what is left.`,
    'Wherever there is GET there is HEAD, with the same head and no body, and every path has OPTIONS, 204 with `Allow`: these follow from HTTP and are not listed. A method that a path lacks is 405 `MethodNotAllowed` with `Allow`, a path that is not here 404 `NotFound`.',
  ].join('\n\n')
}

function pathsOf(operations: readonly Operation[], errors: ErrorAnswers, entities: readonly Entity[]): Record<string, Part> {
  const byPath = Map.groupBy(operations, ({ path }) => path)
  const paths = [...byPath].map(([path, ofPath]) => {
    const own = ofPath.map((operation) => [operation.method.toLowerCase(), operationSchema(operation, errors, entities)])
    return [path, { parameters: pathParameters(path), ...Object.fromEntries(own) }]
  })
  return Object.fromEntries(paths)
}

function pathParameters(path: string): Part[] {
  const code = inPath('code', 'The code, in any case.', schemaRef('ErrorCode'), 'NotFound')
  const own = path.includes('/{id}') ? parameterRefs('Id') : path.endsWith('/{code}') ? [code] : []
  return [...own, ...parameterRefs('RequestId')]
}

function operationSchema(operation: Operation, errors: ErrorAnswers, entities: readonly Entity[]): Part {
  const { operationId, summary, description, success, entity } = operation
  const isOpen = entity === null && success !== 'changes'
  const responses = { ...successesOf(operation), ...errors.of(operation) }
  const parameters = parametersOf(operation, '304' in responses, entities)
  const tag = entity?.plural ?? (isOpen ? PAGES_TAG : CHANGES_TAG)
  return {
    operationId,
    summary,
    description,
    tags: [tag],
    ...(isOpen && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(entity && ['created', 'updated'].includes(success) ? { requestBody: bodyOf(entity, operation.method) } : {}),
    responses,
  }
}

function parametersOf({ entity, success, method }: Operation, isConditional: boolean, entities: readonly Entity[]): Part[] {
  if (success === 'changes') return listChangesParameters(entities)
  if (success === 'history') return parameterRefs('ChangesAfter', 'ChangesPageSize')
  if (entity === null) return isConditional ? parameterRefs('PageIfNoneMatch') : []
  if (method !== 'GET') return parameterRefs(...(method === 'POST' ? [] : ['IfMatch']), 'IdempotencyKey')
  const own = { list: listParameters, summary: summaryParameters, row: fieldsParameter }[success as 'list' | 'summary' | 'row']
  return [own(entity), parameterRefs('IfNoneMatch')].flat()
}

/** Request body of one row. Arrays of rows have no schema: with "a row or an array", generated clients send both wrongly. D59 */
function bodyOf(entity: Entity, method: Operation['method']): Part {
  const rows = method === 'POST' ? ' An array of 1 to 1,000 of them, of up to 2 MiB, is taken too.' : ''
  const description = `One JSON object in UTF-8, not compressed, of up to 1 MiB; \`application/<any>+json\` is taken too.${rows}`
  const name = `${entity.name}${method !== 'PATCH' && entity.required.length > 0 ? 'Complete' : 'Write'}`
  return { required: true, description, content: { 'application/json': { schema: schemaRef(name) } } }
}

function schemasOf(entities: readonly Entity[]): Record<string, Schema> {
  const kinds = entities.flatMap(({ properties }) => properties.map(({ kind }) => kind))
  const own = entities.map((entity) => ({
    [entity.name]: rowSchema(entity),
    [`${entity.name}Written`]: writtenSchema(entity),
    [`${entity.name}Write`]: writeSchema(entity),
    ...(entity.required.length > 0 && { [`${entity.name}Complete`]: completeSchema(entity) }),
    [`${entity.name}Sort`]: sortSchema(entity),
    [`${entity.name}Field`]: fieldSchema(entity),
    [`${entity.name}Group`]: groupSchema(entity),
  }))
  return Object.assign({}, ...own, changesSchemas(entities), conditionSchemas(kinds), errorSchemas)
}
