import { expect, test } from 'bun:test'
import { exampleOf } from '../../src/describe/exampleRow.ts'
import type { Entity, Property } from '../../src/model/entity.ts'
import { parseRights } from '../../src/rights/checks.ts'
import { RightError } from '../../src/rights/grammar.ts'
import { entities } from '../support/entities.ts'
import { createSampleDatabase } from '../support/postgres.ts'
import { Random } from '../support/random.ts'
import { KINDS, randomKey } from '../support/rightsPairsRights.ts'
import { rounds } from '../support/rounds.ts'
import { type Answer, errorOf, type Json, makeKey, type TestKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'

// The document of a key is exact: what it has is answered, and what it lacks is refused. Each answer is checked against it, too.

/** Others in each run. */
const KEYS = rounds(10, 100)
const server = useServer(async () => ({ databaseUrl: await createSampleDatabase(), environment: { RATE_LIMIT_CLIENTS: '40' } }))
const bodyNamed = ({ requestBody }: Json, { schemas }: Json): Json =>
  schemas[requestBody.content['application/json'].schema.$ref.split('/').at(-1)]

/** Random keys whose rights the server accepts. */
function randomKeys(seed: number): TestKey[] {
  const random = new Random(seed)
  const keys: TestKey[] = []
  while (keys.length < KEYS) {
    const { text } = randomKey(random, entities, random.pick(KINDS))
    try {
      parseRights(text.split('\n'), entities)
      keys.push(makeKey({ rights: '', addresses: text }))
    } catch (error) {
      if (!(error instanceof RightError)) throw error
    }
  }
  return keys
}

/** Sends what the whole document describes as a key, and returns where the answer is not what the document of the key says. */
async function faultsOf(key: TestKey, whole: Json): Promise<string[]> {
  const faults: string[] = []
  const document = (await server.get('/openapi.json', key.headers)).body
  const send = async (method: string, path: string, body?: unknown) => {
    const answer = await server.send(method, path, body, key.headers)
    if (answer.status === 500) faults.push(`${method} ${path} ${JSON.stringify(body)} is 500`)
    return answer
  }
  for (const entity of entities) {
    const list = `/${entity.plural}`
    const followed = ({ $ref, ...own }: Json) => ($ref ? whole.components.parameters[$ref.split('/').at(-1)] : own)
    const parameters = whole.paths[list].get.parameters.map(followed).filter(({ examples }: Json) => examples)
    for (const [path, method] of [
      ...[list, `${list}/Summary`, `${list}/{id}`, `${list}/{id}/Changes`].map((path) => [path, 'get'] as const),
      ...(['post', 'patch', 'delete'] as const).map((method) => [list, method] as const),
      ...(['put', 'patch', 'delete'] as const).map((method) => [`${list}/{id}`, method] as const),
    ]) {
      const isThere = document.paths[path]?.[method] !== undefined
      const { status } = await send(
        method.toUpperCase(),
        path.replace('{id}', '999999'),
        method === 'get' ? undefined : '{"x":1}',
      )
      if (isThere === (status === 403))
        faults.push(`${method} ${path} is ${status}, and ${isThere ? 'described' : 'not described'}`)
    }
    // Whether each filter, sort and group is described is what the client of the tests checks.
    if (document.paths[list]?.get)
      for (const { name, examples } of parameters) {
        await send('GET', `${list}?${name}=${encodeURIComponent(examples.equal.value[0])}&sort=-${name}&fields=${name}`)
        await send('GET', `${list}/Summary?groupBy=${name}`)
      }
    for (const method of ['post', 'patch'] as const) {
      const path = method === 'post' ? list : `${list}/{id}`
      const operation = document.paths[path]?.[method]
      if (operation)
        faults.push(
          ...(await faultsOfBodies(entity, operation, document, (body) =>
            send(method.toUpperCase(), path.replace('{id}', '1'), body),
          )),
        )
    }
  }
  return faults
}

/** Sends each property alone. The body of a property that may be set is taken, if the row is: that is up to the right. */
async function faultsOfBodies(entity: Entity, operation: Json, document: Json, send: (body: object) => Promise<Answer>) {
  const faults: string[] = []
  const { properties } = bodyNamed(operation, document.components)
  const isIn = (described: Json, { path: [key = '', part] }: Property) =>
    part === undefined ? key in (described ?? {}) : part in (described?.[key]?.properties ?? {})
  for (const property of entity.properties) {
    const { path, name } = property
    const body = path.reduceRight<unknown>((value, key) => ({ [key]: value }), exampleOf(entity, property)) as object
    const { status, code, target } = errorOf(await send(body))
    // What the server makes is ignored where it is seen; a right without `fields` names it, too.
    const isSeen = property === entity.id || isIn(document.components.schemas[entity.name]?.properties, property)
    if (!property.writable && !isSeen) continue
    const isNamed = `${name}.`.toLowerCase().startsWith(`${target}.`.toLowerCase())
    const isRefused = (code === 'UnknownProperty' || code === 'Forbidden') && isNamed
    const isTaken = isIn(properties, property) || !property.writable
    // A right may narrow what a property becomes, and then names it, too.
    const isOfRow = isTaken && status === 403
    if (isRefused === isTaken && !isOfRow)
      faults.push(`${operation.operationId} answers ${name} with ${status} ${code} ${target}`)
  }
  return faults
}

test('D88: the OpenAPI document of a random key describes what the key may do, and nothing else', async () => {
  const seed = Date.now() & 0x7fffffff
  const keys = randomKeys(seed)
  await server.replaceKeys(keys.map(({ record }) => record))
  const whole = (await server.get('/openapi.json')).body
  for (const key of keys) {
    const faults = await faultsOf(key, whole).catch((error) => [String(error)])
    expect({ seed, rights: key.record.addresses, faults }).toEqual({ seed, rights: key.record.addresses, faults: [] })
  }
})
