import type { Entity } from '../model/entity.ts'
import { refTo, type Schema } from './headers.ts'
import { bodyNameOf } from './rows.ts'

// Several rows by one request. D59

const ROWS_MAX = 1_000

/** Of `POST`. */
export const createParameters: Readonly<Record<string, Schema>> = {
  DryRun: {
    name: 'dryRun',
    in: 'query',
    description:
      '`1`: all is checked, references too, and nothing is written; the answer is 200 with the number of rows.',
    schema: { type: 'string', enum: ['0', '1'], default: '0' },
  },
}

/** The answer to a dry run. */
export const createSchemas: Readonly<Record<string, Schema>> = {
  CheckedRows: {
    description: 'The answer to `dryRun=1`.',
    type: 'object',
    required: ['rows'],
    additionalProperties: false,
    properties: {
      rows: { type: 'integer', minimum: 1, maximum: ROWS_MAX, description: 'Those that would be created.' },
    },
  },
}

/** What is sent to create a row, or several. */
export function createBody(entity: Entity): Schema {
  const row = refTo('schemas', bodyNameOf(entity, true))
  const description =
    'One JSON object in UTF-8, not compressed, of up to 1 MiB; or an array of 1 to 1,000 of them, of up to 2 MiB, which are all created or none; `application/<any>+json` is taken too.'
  const lines = { type: 'string', description: 'The same rows as an array has, an object a line.' }
  return {
    required: true,
    description,
    content: {
      'application/json': { schema: { anyOf: [row, rowsOf(row)] } },
      'application/x-ndjson': { schema: lines },
    },
  }
}

/** What is answered, where `row` is that of one row. */
export function createdContent(row: Schema): Schema {
  const { anyOf } = row as { anyOf: readonly Schema[] }
  const lines = { type: 'string', description: 'Several rows as JSON, one a line, where `Accept` asks for them so.' }
  return {
    'application/json': { schema: { anyOf: [...anyOf, rowsOf(row)] } },
    'application/x-ndjson': { schema: lines },
  }
}

function rowsOf(row: Schema): Schema {
  return { type: 'array', items: row, minItems: 1, maxItems: ROWS_MAX }
}
