import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { copyCluster } from '../support/cluster.ts'
import { temporaryFolder } from '../support/process.ts'

const folder = temporaryFolder()

test('a server prints on a terminal a link to /explore with the development key', async () => {
  copyCluster(folder.path)
  let output = ''
  const text = new TextDecoder()
  const shown = Promise.withResolvers<void>()
  const server = Bun.spawn([process.execPath, '--no-env-file', 'src/main.ts'], {
    cwd: join(import.meta.dir, '../..'),
    env: { PATH: process.env.PATH, HOME: process.env.HOME, PORT: '0', WORKERS: '1', DATA_DIR: folder.path },
    terminal: {
      data(_, bytes) {
        output += text.decode(bytes)
        if (/Try it:/.test(output)) shown.resolve()
      },
    },
  })
  server.exited.then((code) => shown.reject(new Error(`ended with ${code}:\n${output}`)))
  await shown.promise
  const key = readFileSync(join(folder.path, 'development.key'), 'utf8').trim()
  const [, url] = /Look at the data: (http:\S+)\/explore#key=/.exec(output) ?? []
  expect(output).toContain(`${url}/explore#key=${key}`)
  expect((await fetch(`${url}/explore`)).status).toBe(200)
  server.kill('SIGTERM')
  await server.exited.catch(() => undefined)
})
