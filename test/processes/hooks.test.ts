import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { memoryFolderOf } from '../../src/os/folder.ts'
import { createDatabase } from '../support/postgres.ts'
import { endPrograms, runMain, temporaryFolder, until } from '../support/process.ts'
import { startReceiver } from '../support/receiver.ts'
import { KEY } from '../support/server.ts'

const ROOT = join(import.meta.dir, '../..')
const folders: ReturnType<typeof temporaryFolder>[] = []

setDefaultTimeout(120_000)
afterEach(async () => {
  await endPrograms()
  for (const { path, remove } of folders.splice(0)) {
    rmSync(memoryFolderOf(path, 0), { recursive: true, force: true })
    remove()
  }
})

async function hooks(settings: Record<string, string>, ...words: string[]): Promise<string> {
  const command = [process.execPath, '--no-env-file', join(ROOT, 'src/main.ts'), 'hooks', ...words]
  const child = Bun.spawn(command, { env: { PATH: process.env.PATH ?? '', ...settings }, stdout: 'pipe' })
  const text = await new Response(child.stdout).text()
  expect(await child.exited).toBe(0)
  return text
}

test('of two servers one posts; when it is killed the other one does, from where it was', async () => {
  const DATABASE_URL = await createDatabase()
  const HOOKS_ALLOW = '127.0.0.1'
  const settings = { DATABASE_URL, HOOKS_ALLOW, WORKERS: '1', DATABASE_POOL: '2', BOOTSTRAP_API_KEY: KEY }
  const servers = [0, 1].map(() => {
    const folder = temporaryFolder()
    folders.push(folder)
    return runMain({ ...settings, DATA_DIR: folder.path })
  })
  const urls = await Promise.all(servers.map(async (server) => (await server.waitFor(/listens on (http:\S+?),/))[1]))
  const receiver = startReceiver()
  const added = await hooks(settings, 'add', '--url', receiver.url, '--entity', 'Companies:create', '--json')
  const { id, secret } = JSON.parse(added)
  const headers = { authorization: `ApiKey ${KEY}`, 'content-type': 'application/json' }
  const create = async (at: number) => {
    const answer = await fetch(`${urls[at]}/Companies`, { method: 'POST', headers, body: '{}' })
    return ((await answer.json()) as { id: number }).id
  }
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
  await until(async () => JSON.parse(await hooks(settings, 'list', '--json'))[0].waiting === 0)
  expect(await hooks(settings, 'remove', id)).toContain(id)
  await receiver.stop()
})
