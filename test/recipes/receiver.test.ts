import { expect, setDefaultTimeout, test } from 'bun:test'
import { HookSender } from '../../src/hooks/sender.ts'
import { makeSecret } from '../../src/hooks/signature.ts'
import { HookStore } from '../../src/hooks/store.ts'
import { createLog } from '../../src/log.ts'
import { parseTargets } from '../../src/model/targets.ts'
import { loadEntities } from '../../src/registry.ts'
import { readPage } from '../support/documents.ts'
import { endPrograms, freePort, run, until } from '../support/process.ts'
import { startServer } from '../support/server.ts'

const FILE = 'docs/recipes/receiver.py'

setDefaultTimeout(60_000)

test('the page shows the file', () => {
  expect(readPage('docs/recipes/webhooks.md')).toContain(`\`\`\`py\n${readPage(FILE)}\`\`\`\n`)
})

test('the receiver in Python takes what is signed, once, and refuses what is not', async () => {
  const python = Bun.which('python3')
  if (python === null) {
    expect(process.env.CI_REQUIRES_PYTHON).toBeUndefined()
    return
  }
  const server = await startServer()
  const entities = await loadEntities()
  const secret = makeSecret()
  const port = freePort()
  const url = `http://127.0.0.1:${port}/`
  const receiver = run([python, '-u', FILE], { HOOK_SECRET: secret, PORT: String(port) })
  const store = new HookStore(server.sql, entities)
  await store.add({ url, secret, events: ['*'] })
  const unsigned = await store.add({ url, secret: makeSecret(), events: ['*'] })
  const sender = new HookSender(server.databaseUrl, entities, {
    ...{ allowed: parseTargets('127.0.0.1'), log: createLog('error', 'json'), newest: null },
    ...{ backOff: { firstMs: 20, mostMs: 100, parkMs: 3_600_000 } },
  })
  const { id } = (await server.post('/Companies', { Name: 'Red Sun' })).body
  await server.patch(`/Companies/${id}`, { Name: 'Blue Moon' })
  await receiver.waitFor(new RegExp(`^create Companies ${id} \\[\\]$`, 'm'))
  await receiver.waitFor(new RegExp(`^update Companies ${id} \\['Name'\\]$`, 'm'))
  await until(async () => (await store.list()).find((one) => one.id === unsigned)?.lastStatus === '401')
  expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(401)
  await sender.stop()
  await endPrograms()
  await server.stop()
})
