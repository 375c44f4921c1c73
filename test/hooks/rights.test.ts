import { expect, test } from 'bun:test'
import { makeSecret } from '../../src/hooks/delivery.ts'
import { parseEvents } from '../../src/hooks/events.ts'
import { HookStore } from '../../src/hooks/store.ts'
import { SealedTokens } from '../../src/model/changesToken.ts'
import type { Entity } from '../../src/model/entity.ts'
import { eagerSender } from '../support/eagerSender.ts'
import { entities } from '../support/entities.ts'
import { until } from '../support/process.ts'
import { quietLog } from '../support/quietLog.ts'
import { Random } from '../support/random.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import type { Json } from '../support/server.ts'
import { untilSettled } from '../support/settled.ts'
import { useServer } from '../support/start.ts'

// What hooks with rights post, byte for byte, while everything around them changes.

const SEED = 90
const ROUNDS = 20
const WRITES_A_ROUND = 12
const HOOKS = 6
/** A property that no hook shows, of which there are more updates than one statement reads. */
const HIDDEN = 'WorkPhone'
const HIDDEN_UPDATES = 20_500

const server = useServer()
const log = quietLog({ error() {} })

const send = () => eagerSender(server.databaseUrl, log, 500)

/** What a hook may show: by plural name of an entity, the names of its properties. */
type Shown = ReadonlyMap<string, readonly string[]>

interface TestHook {
  readonly id: string
  readonly receiver: Receiver
  /** All that it may have shown, the present one last. */
  readonly shown: Shown[]
  readonly actions: string
}

function drawShown(random: Random, plurals: readonly string[]): Shown {
  const propertiesOf = ({ properties, id }: Entity) =>
    properties.filter((property) => property === id || (property.name !== HIDDEN && random.chance(30))).map(({ name }) => name)
  return new Map(entities.filter(({ plural }) => plurals.includes(plural)).map((entity) => [entity.plural, propertiesOf(entity)]))
}

const rightsOf = (shown: Shown) => [...shown].map(([plural, names]) => `read ${plural}?fields=${names.join()}`).join('\n')

async function addHook(store: HookStore, random: Random): Promise<TestHook> {
  const plurals = entities.map(({ plural }) => plural).filter(() => random.chance(70))
  const chosen = plurals.length === 0 ? ['Employees'] : plurals
  const shown = drawShown(random, chosen)
  const actions = random.pick(['', '', ':create,update,delete', ':update', ':update,delete'])
  const receiver = startReceiver()
  receiver.answer = () => answerOf(random)
  const events = parseEvents(
    chosen.map((plural) => plural + actions),
    entities.map(({ plural }) => plural),
  )
  const id = await store.add({ url: receiver.url, secret: makeSecret(), events, rights: rightsOf(shown) })
  return { id, receiver, shown: [shown], actions }
}

/** Draws an answer of a receiver that sometimes refuses, and sometimes takes its time. */
async function answerOf(random: Random): Promise<Response> {
  if (random.chance(10)) return new Response(null, { status: 503 })
  if (random.chance(30)) await Bun.sleep(random.below(10))
  return new Response(null, { status: 204 })
}

/** Returns the body that a hook posts of an event of the whole feed; null: none. */
function bodyOf(event: Json, shown: Shown, actions: string, seal: (token: string) => string): string | null {
  const names = shown.get(event.entity)
  if (!names || (actions !== '' && !actions.slice(1).split(',').includes(event.action))) return null
  const changed = event.changed.filter((name: string) => names.includes(name))
  if (event.action === 'update' && changed.length === 0) return null
  const data = JSON.stringify({ ...event, token: seal(event.token), changed })
  return `{"type":"${event.entity}.${event.action}","timestamp":"${event.at}","data":${data}}`
}

async function allChanges(from: string): Promise<Json[]> {
  const events: Json[] = []
  for (let next = from, more = true; more; ) {
    const { body } = await server.get(`/Changes?after=${next}&PageSize=500`)
    events.push(...body.changes)
    ;({ next, more } = body)
  }
  return events
}

/** Writes something at random: properties that some hooks hide and others show, references, renames, deletions. */
async function writeOne(random: Random, ids: Record<'Companies' | 'Employees' | 'Absences', number[]>): Promise<void> {
  const texts = ['FirstName', 'LastName', 'KnownAs', 'JobTitle', 'Department', 'Location', HIDDEN]
  const company = random.pick(ids.Companies)
  const employee = random.pick(ids.Employees)
  const text = () => `secret ${random.below(1_000_000)}`
  const create = async (plural: keyof typeof ids, body: Json) => {
    const { status, body: row } = await server.post(`/${plural}`, body)
    if (status === 201) ids[plural].push(row.id)
  }
  const writes = [
    () => server.patch(`/Companies/${company}`, { Name: text() }),
    () => server.patch(`/Companies/${company}`, { Enabled: random.chance(50) }),
    () => server.patch(`/Employees/${employee}`, { [random.pick(texts)]: text() }),
    () => server.patch(`/Employees/${employee}`, { [random.pick(texts)]: text(), [random.pick(texts)]: null }),
    () => server.patch(`/Employees/${employee}`, { [HIDDEN]: text() }),
    () => server.patch(`/Employees/${employee}`, { CompanyId: company, ManagerId: random.pick([null, employee]) }),
    () => server.patch(`/Absences/${random.pick(ids.Absences)}`, { Reason: text(), Status: random.pick(['New', 'Approved']) }),
    () => server.patch(`/Absences/${random.pick(ids.Absences)}`, { EmployeeId: employee, Period: { Days: null } }),
    () => create('Employees', { FirstName: text(), CompanyId: company }),
    () => create('Absences', { EmployeeId: employee, Reason: text() }),
    () => server.remove(`/Absences/${random.pick(ids.Absences)}`),
  ]
  await random.pick(writes)()
}

test('hooks post exactly what their rights show, while rows, rights, hooks, receivers and senders change', async () => {
  const random = new Random(SEED)
  const { sql } = server
  const store = new HookStore(sql, entities)
  const [row] = await sql<{ secret: string }[]>`select secret from cursor_secret`
  const tokens = new SealedTokens(() => row?.secret ?? '')
  const seal = (token: string) => tokens.seal(token)
  const ids = { Companies: [] as number[], Employees: [] as number[], Absences: [] as number[] }
  for (let count = 0; count < 4; count++) {
    ids.Companies.push((await server.post('/Companies', { Name: `Company ${count}` })).body.id)
    const employee = { FirstName: `First ${count}`, CompanyId: ids.Companies[count] }
    ids.Employees.push((await server.post('/Employees', employee)).body.id)
    ids.Absences.push((await server.post('/Absences', { EmployeeId: ids.Employees[count] })).body.id)
  }
  await untilSettled(sql)
  const from = (await server.get('/Changes?after=now')).body.next
  const hooks: TestHook[] = []
  for (let count = 0; count < HOOKS; count++) hooks.push(await addHook(store, random))
  const [narrowed, paused, removed] = hooks as [TestHook, TestHook, TestHook]
  let sender = send()
  /** Rights that a hook has from now on, as an operator could write them by SQL. */
  const setRights = (hook: TestHook, rights: string) =>
    sql`update hook set rights = ${rights}, revision = revision + 1 where id = ${hook.id}`
  const during: Readonly<Record<number, () => Promise<unknown>>> = {
    2: async () => {
      await sender.stop()
      sender = send()
    },
    4: () => store.pause(paused.id),
    6: async () => {
      await sql`
        insert into entity_change (position, entity, id, action, key, changed)
        select change_position(), 'employee', ${ids.Employees[0] as number}, 'u', 'k', '{work_phone}'
        from generate_series(1, ${HIDDEN_UPDATES}::int)`
    },
    8: async () => {
      const present = narrowed.shown.at(-1) as Shown
      const fewer = new Map([...present].map(([plural, names]) => [plural, names.filter((_, index) => index % 2 === 0)]))
      narrowed.shown.push(fewer)
      await setRights(narrowed, rightsOf(fewer))
    },
    10: () => store.resume(paused.id, false),
    14: () => store.remove(removed.id),
  }
  for (let round = 0; round < ROUNDS; round++) {
    await during[round]?.()
    await Promise.all(Array.from({ length: WRITES_A_ROUND }, () => writeOne(random, ids)))
  }
  for (const { receiver } of hooks) receiver.answer = () => new Response(null, { status: 204 })
  const isDone = async () => (await store.list()).every(({ waiting, state }) => waiting === 0 && state === 'active')
  await until(isDone)
  const events = await allChanges(from)
  expect(events.length).toBeGreaterThan(HIDDEN_UPDATES + ROUNDS * WRITES_A_ROUND * 0.8)
  // From here on, a hook with narrowed rights posts nothing that only its former rights show, and a removed hook posts nothing.
  const posted = hooks.map(({ receiver }) => receiver.deliveries.length)
  for (const id of ids.Employees.slice(0, 4)) await server.patch(`/Employees/${id}`, { FirstName: 'Last', JobTitle: 'Last' })
  for (const id of ids.Companies) await server.patch(`/Companies/${id}`, { Name: 'Last', Enabled: null })
  await until(isDone)
  await sender.stop()
  const all = await allChanges(from)
  for (const [index, { id, receiver, shown, actions }] of hooks.entries()) {
    const { deliveries } = receiver
    const allowed = new Set(all.flatMap((event) => shown.flatMap((one) => bodyOf(event, one, actions, seal) ?? [])))
    const present = shown.at(-1) as Shown
    const later = new Set(all.flatMap((event) => bodyOf(event, present, actions, seal) ?? []))
    const after = deliveries.slice(posted[index])
    const differences = [
      ...deliveries.filter(({ text }) => !allowed.has(text)).map(({ text }) => text),
      ...after.filter(({ text }) => !later.has(text)).map(({ text }) => text),
      ...deliveries.filter(({ headers, body }) => headers.get('webhook-id') !== `msg_${id}_${body.data.token}`),
    ]
    expect(differences).toEqual([])
    // A hook that was removed, or whose rights were changed, has posted only some of the events.
    const isWhole = shown.length === 1 && id !== removed.id
    const texts = new Set(deliveries.map(({ text }) => text))
    if (isWhole) expect([...later].filter((text) => !texts.has(text))).toEqual([])
    else if (id === removed.id) expect(after).toEqual([])
    const inOrder = new Map<string, string[]>()
    for (const { body } of new Map(deliveries.map((delivery) => [delivery.text, delivery])).values())
      inOrder.getOrInsertComputed(`${body.data.entity} ${body.data.id}`, () => []).push(body.data.token)
    const places = new Map(all.map((event, place) => [seal(event.token), place]))
    for (const [key, own] of inOrder) {
      const found = own.map((token) => places.get(token) ?? -1)
      expect([key, found]).toEqual([key, found.toSorted((one, other) => one - other)])
    }
    await receiver.stop()
  }
})
