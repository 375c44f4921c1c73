// The rights of a key in the OpenAPI document, as `GET /Rights` answers them.
import { Type } from '@sinclair/typebox'
import { VERBS } from '../model/access.ts'
import { operators } from '../model/operators.ts'
import { objectSchema, oneOf, orNull, schemaRef } from './schema.ts'

const SIGNS = operators.map(({ sign }) => `\`${sign}\``).join(' ')

const filterSchema = objectSchema({
  property: Type.String({ description: 'The name of the property, as in parameters.' }),
  // This is no enumeration: openapi-generator makes TypeScript names of the values, and its name for `[]` does not compile.
  operator: Type.String({ description: `The sign of the operator: ${SIGNS}.` }),
  value: Type.Optional(orNull(Type.String({ description: 'The operand; null: no value.' }))),
  values: Type.Optional(Type.Array(orNull(Type.String()), { description: 'The operands of `[]`; null: no value.' })),
})

const filters = (description: string) => Type.Array(schemaRef('KeyRightFilter'), { description })

const rightSchema = objectSchema(
  {
    text: Type.String({ description: 'The right as operators write it: a verb, and the address of a list.' }),
    role: orNull(
      Type.String({ description: 'The role of the roles file that gives the right to a person; null: the right of a key.' }),
    ),
    template: orNull(
      Type.String({
        description: 'The right as the roles file has it, with its variables, such as `{me.Id}`; null: the right of a key.',
      }),
    ),
    collection: Type.String({ description: 'The name of the resource in paths.' }),
    verb: oneOf(VERBS),
    properties: Type.Unsafe({
      type: ['array', 'null'],
      items: { type: 'string' },
      description: 'The names of the properties that are seen or set; null: all.',
    }),
    filters: filters('Conditions that a row must match: to be read, before it is changed or deleted, and after it is created.'),
    becomes: Type.Unsafe({
      type: ['array', 'null'],
      items: schemaRef('KeyRightFilter'),
      description: 'Conditions that a row must match after it is changed; null: those of `filters`.',
    }),
  },
  { description: 'One right.' },
)

export const rightsSchemas = { KeyRight: rightSchema, KeyRightFilter: filterSchema }
