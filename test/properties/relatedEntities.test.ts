import { beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { newTables } from '../../src/postgres/schemaDiff.ts'
import { loadEntities } from '../../src/registry.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { temporaryFolder } from '../support/process.ts'
import type { Json } from '../support/server.ts'
import { useServer } from '../support/start.ts'

// Entities as an operator may declare them: two references of an entity to itself, a cycle of two entities, a reference within an
// object, and names that begin others.

const MODEL = join(import.meta.dir, '../../src/model/entity.ts')
const FILES = {
  node: `defineEntity('Node', {
  id: identity(),
  name: text(),
  parentId: reference('Node'),
  parent: copied('parentId', 'name'),
  deputyId: reference('Node'),
  deputy: copied('deputyId', 'name'),
  homeId: reference('Hub'),
})`,
  hub: `defineEntity('Hub', { id: identity(), title: text(), open: boolean(), nodeId: reference('Node'), nodeName: copied('nodeId', 'name') })`,
  trip: `defineEntity('Trip', {
  id: identity(),
  label: text(),
  node: text(),
  nodeId: reference('Node'),
  nodeIdea: text(),
  period: group({ managerId: reference('Node'), days: decimal(2), manager: text() }),
  since: date(),
})`,
}

function declared(files: Record<string, string>): string {
  const { path } = temporaryFolder()
  const imports = `import { boolean, copied, date, decimal, defineEntity, group, identity, reference, text } from '${MODEL}'`
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(path, `${name}.ts`), `${imports}\nexport default ${text}\n`)
  return path
}

/** Makes a database with the tables of the entities. */
async function databaseFor(folder: string): Promise<string> {
  const url = await createDatabase()
  const sql = connect(url)
  await sql.unsafe(newTables(await loadEntities(folder)))
  await sql.end()
  return url
}

/** The greatest id, which JSON can hold. */
const LAST = Number.MAX_SAFE_INTEGER

describe('D91: references of any entity', () => {
  const folder = declared(FILES)
  const server = useServer(async () => ({ databaseUrl: await databaseFor(folder), entitiesDir: folder, hasForeignRows: true }))
  const plain = useServer(() => ({
    databaseUrl: server.databaseUrl,
    entitiesDir: folder,
    hasForeignRows: true,
    environment: { MEMORY_MB: '0' },
  }))

  beforeAll(async () => {
    const create = (path: string, body: object) =>
      server.post(path, body).then(({ status, text }) => expect([status, text]).toEqual([201, text]))
    // 1 is the parent of 2, which is that of 3; 4 and 5 are parents of each other; 6 is its own.
    for (const name of ['one', 'two', 'three', 'four', 'five', 'six']) await create('/Nodes', { name })
    await create('/Hubs', { title: 'north', open: true, nodeId: 2 })
    await create('/Hubs', { title: 'south', nodeId: 5 })
    const changes = {
      1: { homeId: 1 },
      2: { parentId: 1, deputyId: 3 },
      3: { parentId: 2, deputyId: 2, homeId: 2 },
      4: { parentId: 5 },
      5: { parentId: 4, homeId: 1 },
      6: { parentId: 6, deputyId: 2 },
    }
    for (const [id, body] of Object.entries(changes)) expect((await server.patch(`/Nodes/${id}`, body)).status).toBe(200)
    await server.sql`insert into node (id, name, parent_id, parent_key) overriding system value select ${LAST}, 'last', id, name_key from node where id = 3`
    const trips = [
      { label: 'a', nodeId: 3, node: 'x', nodeIdea: 'y', period: { managerId: 2, days: 1 } },
      { label: 'b', nodeId: LAST, period: { managerId: LAST, days: 2.5 }, since: '2024-02-29' },
      { label: 'c', nodeId: 4, since: '2024-03-01' },
      { label: 'd', period: { managerId: 6, manager: 'm' } },
    ]
    for (const trip of trips) await create('/Trips', trip)
  })

  /** Sends a request to both servers until the first has answered from memory, and expects the same bytes. */
  async function get(path: string): Promise<Json> {
    const answers = [await server.get(path), await server.get(path), await plain.get(path)]
    const [first, ...others] = answers.map(({ status, text }) => `${status} ${text}`)
    expect({ path, others }).toEqual({ path, others: [first, first] as string[] })
    return answers[0]?.body
  }
  const labels = async (query: string) => (await get(`/Trips?${query}&sort=Id`)).map(({ label }: Json) => label).join('')
  const names = async (query: string) => (await get(`/Nodes?${query}&sort=Id`)).map(({ name }: Json) => name).join()

  test.each([
    ['Period.ManagerId.Name=two', 'a'],
    ['period.managerid.NAME=!=two', 'bcd'],
    ['Period.ManagerId.ParentId.Name=six', 'd'],
    ['Period.ManagerId=6', 'd'],
    ['Period.Manager=m', 'd'],
    ['Period.ManagerId.Deputy=three', 'a'],
    ['Period.ManagerId.ParentId[under]=1', 'ab'],
    ['Period.ManagerId.ParentId[under]=6', 'd'],
    ['NodeId.Name=three', 'a'],
    ['Node=x&NodeIdea=y&NodeId.ParentId=2', 'a'],
    ['NodeId.HomeId.Title=south', 'a'],
    ['NodeId.HomeId.Open=false', 'a'],
    ['NodeId.HomeId.Open=', 'bcd'],
    ['NodeId.HomeId.NodeId=5', 'a'],
    ['NodeId.ParentId[under]=3', 'b'],
    [`NodeId.Id=${LAST}`, 'b'],
    [`NodeId=${LAST}&Period.ManagerId=${LAST}`, 'b'],
    [`NodeId.Id[]=${LAST}&NodeId.Id[]=`, 'bd'],
    [`NodeId.ParentId[under]=${LAST}`, ''],
    ['NodeId.Id=>9007199254740990', 'b'],
  ])('a list of trips by %s has the labels "%s"', async (query, found) => {
    expect(await labels(query)).toBe(found)
  })

  test.each([
    ['ParentId[under]=1', 'two,three,last'],
    ['ParentId[under]=2', 'three,last'],
    ['ParentId[under]=4', 'four,five'],
    ['ParentId[under]=6', 'six'],
    ['DeputyId[under]=2', 'two,three,six'],
    ['DeputyId[under]=3', 'two,three,six'],
    ['DeputyId.ParentId[under]=1', 'two,three,six'],
    ['ParentId.DeputyId[under]=2', 'three,six,last'],
    ['ParentId[under]=1&DeputyId[under]=2', 'two,three'],
    ['ParentId.ParentId.ParentId=1', 'last'],
    ['HomeId.NodeId.Name=two', 'one,five'],
    ['HomeId.NodeId.HomeId=1', 'three'],
    ['HomeId.NodeName=five', 'three'],
    ['Deputy=two&DeputyId.Parent=one', 'three,six'],
  ])('a list of nodes by %s has the names "%s"', async (query, found) => {
    expect(await names(query)).toBe(found)
  })

  test('values by paths are shown under their whole path, in the order in which fields names them', async () => {
    const fields = 'Id,Period.ManagerId.ParentId.Name,Period,NodeId.Name,Period.ManagerId.Name,NodeId.HomeId.Title'
    const [first, second] = await get(`/Trips?fields=${fields}&sort=Id`)
    expect(JSON.stringify(first)).toBe(
      '{"id":1,"period":{"managerId":2,"days":1,"manager":null},"period.managerId.parentId.name":"one","nodeId.name":"three","period.managerId.name":"two","nodeId.homeId.title":"south"}',
    )
    expect(second['nodeId.name']).toBe('last')
    const csv = await server.get(`/Trips?fields=Id,Period.ManagerId.Name,NodeId.Id`, { Accept: 'text/csv' })
    expect(csv.text).toBe(`id,period.managerId.name,nodeId.id\r\n1,two,3\r\n2,last,${LAST}\r\n3,,4\r\n4,six,\r\n`)
    expect(await get('/Trips/2?fields=NodeId.Id,Period.ManagerId.Id')).toEqual({ 'nodeId.id': LAST, 'period.managerId.id': LAST })
  })

  test('a summary can have groups by paths and by copied properties', async () => {
    expect(await get('/Trips/Summary?groupBy=Period.ManagerId.Parent&sum=Period.Days')).toEqual([
      { 'period.managerId.parent': 'one', 'period.managerId.parentId': 1, count: 1, sum: { period: { days: 1 } } },
      { 'period.managerId.parent': 'six', 'period.managerId.parentId': 6, count: 1, sum: { period: { days: null } } },
      { 'period.managerId.parent': 'three', 'period.managerId.parentId': 3, count: 1, sum: { period: { days: 2.5 } } },
      { 'period.managerId.parent': null, 'period.managerId.parentId': null, count: 1, sum: { period: { days: null } } },
    ])
    expect(await get('/Nodes/Summary?groupBy=Deputy&minimum=DeputyId.Name')).toEqual([
      { deputy: 'three', deputyId: 3, count: 1, minimum: { 'deputyId.name': 'three' } },
      { deputy: 'two', deputyId: 2, count: 2, minimum: { 'deputyId.name': 'two' } },
      { deputy: null, deputyId: null, count: 4, minimum: { 'deputyId.name': null } },
    ])
    expect(await get('/Nodes/Summary?groupBy=HomeId.NodeId.HomeId&maximum=HomeId.NodeId.Id')).toEqual([
      { 'homeId.nodeId.homeId': 1, count: 1, maximum: { 'homeId.nodeId.id': 5 } },
      { 'homeId.nodeId.homeId': null, count: 6, maximum: { 'homeId.nodeId.id': 2 } },
    ])
  })

  test('if two tables refer to each other, lists of one immediately show a change of the other', async () => {
    expect(await names('HomeId.NodeId.Name=five')).toBe('three')
    expect((await server.patch('/Hubs/2', { nodeId: 1 })).status).toBe(200)
    expect(await names('HomeId.NodeId.Name=five')).toBe('')
    expect(await names('HomeId.NodeId.Name=one')).toBe('three')
    expect((await server.patch('/Nodes/1', { name: 'uno' })).status).toBe(200)
    expect(await names('HomeId.NodeId.Name=uno')).toBe('three')
    expect(await names('HomeId.NodeName=uno')).toBe('three')
    expect(await names('ParentId[under]=1')).toBe('two,three,last')
    expect((await server.patch('/Nodes/2', { parentId: null })).status).toBe(200)
    expect(await names('ParentId[under]=1')).toBe('')
  })

  test.each([
    ['/Trips?Period.ManagerId.Nam=x', 'Nodes have no property "Nam". Did you mean Name?'],
    ['/Trips?Manager.Name=x', 'Did you mean Period.ManagerId.Name?'],
    ['/Trips?Period.ManagerId.=x', 'Behind Period.ManagerId. stands a property of Nodes: Name, for example.'],
    [
      '/Trips?Period.ManagerId[under]=x',
      '[under] takes references to rows of their own kind, as NodeId.ParentId, NodeId.DeputyId, Period.ManagerId.ParentId or Period.ManagerId.DeputyId.',
    ],
    ['/Hubs?Parent=x', 'Did you mean NodeId.Parent?'],
    ['/Trips?NodeIdea.Name=x', 'Hubs'],
  ])('%s gets 400 with a message that says why', async (path, hint) => {
    const { status, body } = await server.get(path)
    expect(status).toBe(400)
    if (hint !== 'Hubs') expect(body.Error.Message).toEndWith(hint)
  })
})

test('a reference of an entity to itself has this entity as its target', async () => {
  const folder = declared({ part: `defineEntity('Part', { id: identity(), name: text(), wholeId: reference('Part') })` })
  const [part] = await loadEntities(folder)
  expect(part?.properties.map(({ reference }) => reference?.target?.name)).toEqual([undefined, undefined, 'Part'])
  expect(part?.properties.at(-1)?.reference?.target).toBe(part as never)
})
