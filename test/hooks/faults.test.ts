import { expect, test } from 'bun:test'
import { makeSecret } from '../../src/hooks/delivery.ts'
import { HookStore } from '../../src/hooks/store.ts'
import { eagerSender } from '../support/eagerSender.ts'
import { entities } from '../support/entities.ts'
import { until } from '../support/process.ts'
import { quietLog } from '../support/quietLog.ts'
import { Random } from '../support/random.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import type { Json } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const ROWS = 8
const ROUNDS = 40
const CHANGES_A_ROUND = 12
const SEED = 20_261_123

const server = useServer()

const log = quietLog({ error() {} })

const send = () => eagerSender(server.databaseUrl, log, 200)

/** Draws an answer of an unreliable receiver. */
function answerOf(random: Random): Response | Promise<Response> {
  const refused = () => new Response(null, { status: random.pick([404, 500, 503]) })
  const late = async () => Bun.sleep(random.below(30)).then(() => new Response(null, { status: 204 }))
  const lost = () => new Promise<Response>(() => undefined)
  return random.pick([refused, late, late, late, () => new Response(null, { status: 204 }), lost])()
}

const endConnections = () => server.sql`
  select pg_terminate_backend(pid) from pg_stat_activity
  where application_name = 'roster hooks' and datname = current_database()`

/**
 * Returns a fault for each missed change, and for each change that was delivered before an earlier change of its row was
 * accepted.
 */
function differences({ deliveries }: Receiver, taken: ReadonlyMap<object, number>, lines: readonly Json[]): string[] {
  const found: string[] = []
  const takenAt = new Map<string, number>()
  for (const delivery of deliveries) {
    const at = taken.get(delivery)
    const { token } = delivery.body.data
    if (at !== undefined) takenAt.set(token, Math.min(at, takenAt.get(token) ?? at))
  }
  const lasts = new Map<number, string>()
  for (const { id, token } of lines) {
    if (!takenAt.has(token)) found.push(`${token} was not taken`)
    const [before, first] = [lasts.get(id), deliveries.findIndex(({ body }) => body.data.token === token)]
    if (before !== undefined && first < (takenAt.get(before) ?? Number.POSITIVE_INFINITY))
      found.push(`${token} of ${id} came before ${before} was taken`)
    lasts.set(id, token)
  }
  return found
}

test('a hook delivers each change, and changes of a row in order, even if receivers, connections and senders fail', async () => {
  const random = new Random(SEED)
  const store = new HookStore(server.sql, entities)
  const from = (await server.get('/Changes?after=now')).body.next
  const hooks = await Promise.all(
    [0, 1].map(async () => {
      const receiver = startReceiver()
      /** Number of deliveries that had arrived when a delivery was accepted. */
      const taken = new Map<object, number>()
      let isReliable = false
      receiver.answer = async (delivery) => {
        const answer = isReliable ? new Response(null, { status: 204 }) : await answerOf(random)
        if (answer.status === 204) taken.set(delivery, receiver.deliveries.length)
        return answer
      }
      await store.add({ url: receiver.url, secret: makeSecret(), events: ['*'] })
      return { receiver, taken, mend: () => void (isReliable = true) }
    }),
  )
  const senders = [send(), send()]
  const ids: number[] = []
  for (let row = 0; row < ROWS; row++) ids.push((await server.post('/Companies', { Name: 'First' })).body.id)
  for (let round = 0; round < ROUNDS; round++) {
    const writes = Array.from({ length: CHANGES_A_ROUND }, (_, number) =>
      server.patch(`/Companies/${random.pick(ids)}`, { Name: `${round} ${number}` }),
    )
    await Promise.all(writes)
    if (random.chance(20)) await endConnections()
    if (random.chance(10)) {
      await senders.shift()?.stop()
      senders.push(send())
    }
    await Bun.sleep(random.below(40))
  }
  for (const { mend } of hooks) mend()
  await until(async () => (await store.list()).every(({ waiting }) => waiting === 0))
  const lines: Json[] = []
  for (let next = from, more = true; more; ) {
    const { body } = await server.get(`/Changes?after=${next}&PageSize=500`)
    lines.push(...body.changes)
    ;({ next, more } = body)
  }
  expect(lines.length).toBeGreaterThan(ROWS + (ROUNDS * CHANGES_A_ROUND) / 2)
  for (const { receiver, taken } of hooks) {
    expect(differences(receiver, taken, lines)).toEqual([])
    expect(receiver.deliveries.length).toBeGreaterThan(lines.length)
  }
  await Promise.all(senders.map((sender) => sender.stop()))
  await Promise.all(hooks.map(({ receiver }) => receiver.stop()))
})
