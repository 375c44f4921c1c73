import { expect, test } from 'bun:test'
import { Webhook } from 'standardwebhooks'
import { outputOf } from '../cli/roster.ts'
import { createDatabase } from '../support/postgres.ts'
import { until } from '../support/process.ts'
import { startReceiver } from '../support/receiver.ts'
import { startProcess } from '../support/start.ts'

test('one of two servers delivers webhooks; when it is killed, the other server continues from its position', async () => {
  const DATABASE_URL = await createDatabase()
  const HOOKS_ALLOW = '127.0.0.1'
  const settings = { DATABASE_URL, HOOKS_ALLOW, WORKERS: '1', DATABASE_POOL: '2', LOG_LEVEL: 'info' }
  const both = await Promise.all([startProcess(settings), startProcess(settings)])
  const servers = both.map(({ server }) => server)
  const hooks = (...words: string[]) => outputOf(settings, 'hooks', ...words)
  const receiver = startReceiver()
  const added = await hooks('add', '--url', receiver.url, '--entity', 'Companies:create', '--json')
  const { id, secret } = JSON.parse(added)
  const create = async (at: number) => (await both[at]?.ask('POST', '/Companies', {}))?.body.id as number
  const came = () => receiver.deliveries.map(({ body }) => body.data.id as number)

  const first = [await create(0), await create(1)]
  await until(() => first.every((one) => came().includes(one)))
  const posts = () => servers.map((server) => server.output().includes('this server posts the webhooks'))
  await until(() => posts().includes(true))
  expect(posts().filter(Boolean)).toHaveLength(1)
  const [poster, other] = posts()[0] ? [0, 1] : [1, 0]
  servers[poster]?.kill('SIGKILL')
  const second = [await create(other), await create(other)]
  await until(() => second.every((one) => came().includes(one)))
  await servers[other]?.waitFor(/this server posts the webhooks/)
  for (const { headers, text } of receiver.deliveries) new Webhook(secret).verify(text, Object.fromEntries(headers.entries()))
  await until(async () => JSON.parse(await hooks('list', '--json'))[0].waiting === 0)
  expect(await hooks('remove', id)).toContain(id)
  await receiver.stop()
})
