import { expect, test } from 'bun:test'
import { compileCreate } from '../../src/compile/create.ts'
import { compileCreateRows, writableOf } from '../../src/compile/createRows.ts'
import { compileRefusals, compileRowRefusals } from '../../src/compile/refusals.ts'
import { compileRemove } from '../../src/compile/remove.ts'
import { compileUpdate } from '../../src/compile/update.ts'
import type { WritePlan } from '../../src/model/batch.ts'
import { copiedProperties, referringColumns, writableSourcesOf } from '../../src/model/copies.ts'
import type { Entity } from '../../src/model/entity.ts'
import type { Assignments } from '../../src/model/query.ts'
import type { Statement } from '../../src/model/sql.ts'
import { entities } from '../support/entities.ts'

const claim = { key: 'k', request: 'r' }
type Compile = (entity: Entity, values: Assignments) => Statement | null

/** Each form of a statement without a guard, and a hash of its texts as they were before there were guards. */
const FORMS: [form: string, hash: string, compile: Compile][] = [
  ['create', '105f5746fd27b7fb', (entity, values) => compileCreate(entity, plan(values))],
  ['create under a key', '91df2b02ff5f35c7', (entity, values) => compileCreate(entity, plan(values, { claim }))],
  ['create of rows', 'f61227c5e5d42ae0', (entity) => compileCreateRows(entity, arraysOf(entity), null, 'a', null)],
  ['create of rows under a key', '8d6c141e80910443', (entity) => compileCreateRows(entity, arraysOf(entity), claim, 'a', null)],
  ['update', '007d75832b1d9e7d', (entity, values) => compileUpdate(entity, plan(values))],
  ['update of a version', '80e8290f681f1f9a', (entity, values) => compileUpdate(entity, plan(values, { versions: '{1}' }))],
  ['update under a key', 'ae3ab02a67b531a7', (entity, values) => compileUpdate(entity, plan(values, { claim }))],
  ['rename', '3e6a71e9fadf5f35', (entity, values) => compileUpdate(entity, plan(values), copyingFrom(entity))],
  [
    'rename under a key',
    'b1f41fc1937b0db1',
    (entity, values) => compileUpdate(entity, plan(values, { claim, versions: '{1}' }), []),
  ],
  ['delete', '7fce42e8d718bf6f', (entity, values) => compileRemove(entity, plan(values), referringColumns(entity, entities))],
  [
    'delete under a key',
    'e3af1f806143d10b',
    (entity, values) => compileRemove(entity, plan(values, { claim, versions: '{1}' }), referringColumns(entity, entities)),
  ],
  ['causes of a refusal', '7588c85e33b74b5e', (entity, values) => compileRefusals(entity, '1', values, null)],
  [
    'causes of a refusal of rows',
    '6ad82c981524233b',
    (entity, values) =>
      compileRowRefusals(
        entity,
        [...values.keys()],
        [...values.keys()].map(() => '{}'),
        null,
        100,
      ),
  ],
]

function plan(values: Assignments, more: Partial<WritePlan> = {}): WritePlan {
  return { id: '1', values, versions: null, claim: null, keyId: 'a', guard: null, ...more }
}

const arraysOf = (entity: Entity) => writableOf(entity).map(() => '{}')
const copyingFrom = (entity: Entity) => referringColumns(entity, entities).filter(({ isCopying }) => isCopying)

/** Values of all properties that clients write, of references, of names that other rows copy, and of one property. */
function changesOf(entity: Entity): Assignments[] {
  const writable = writableOf(entity)
  const copied = copiedProperties(entity, entities).flatMap((property) => writableSourcesOf(entity, property))
  const chosen = [
    writable,
    writable.filter(({ reference }) => reference !== null),
    writable.filter(({ column }) => copied.includes(column)),
    writable.slice(-1),
  ]
  return chosen
    .filter((properties) => properties.length > 0)
    .map((properties) => new Map(properties.map((property) => [property, '1'])))
}

test.each(FORMS)('a statement without a guard has the same text as before guards were introduced: %s', (_, hash, compile) => {
  const statements = entities.flatMap((entity) => changesOf(entity).map((values) => compile(entity, values)))
  const texts = statements.map((statement) => `${statement?.text}\n${JSON.stringify(statement?.values)}`)
  expect(new Bun.CryptoHasher('sha256').update(texts.join('\n')).digest('hex').slice(0, 16)).toBe(hash)
})
