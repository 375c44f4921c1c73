import { afterEach, describe, expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { join } from 'node:path'
import { hasOpenssl, makeCertificate } from '../support/certificate.ts'
import { startClients } from '../support/clients.ts'
import { PATH, usePlace } from '../support/place.ts'
import { freePort, leaveOut, temporaryFolder, until, untilListening } from '../support/process.ts'
import { KEY } from '../support/server.ts'
import { dataFolder, startProcess } from '../support/start.ts'

interface RunningNginx {
  readonly port: number
  /** Its self-signed certificate. */
  readonly certificate: string
  stop(): Promise<void>
}

/** Debian's package installs it outside of the path of ordinary users. */
const PROGRAM = Bun.which('nginx') ?? Bun.which('nginx', { PATH: '/usr/sbin' })

/** True if the machine has `nginx`, and `openssl` to make a certificate. */
const hasNginx = PROGRAM !== null && hasOpenssl

/**
 * Starts an nginx with the configuration in docs/operations/run.md, except ports, certificate files, and the servers, whose ports are
 * `upstreamPorts`.
 */
async function startNginx(...upstreamPorts: readonly number[]): Promise<RunningNginx> {
  const { path: folder } = temporaryFolder()
  const port = freePort()
  const { certificate, key } = makeCertificate('DNS:localhost,IP:127.0.0.1', folder)
  const site = replaced(shownConfiguration(), {
    'server 127.0.0.1:3000 max_fails=0;': upstreamPorts.map((own) => `server 127.0.0.1:${own} max_fails=0;`).join(' '),
    'listen 443 ssl;': `listen 127.0.0.1:${port} ssl;`,
    'api.example.com;': 'localhost;',
    '/etc/ssl/api.example.com.pem': certificate,
    '/etc/ssl/api.example.com.key': key,
  })
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const paths = temporary.map((name) => `${name}_temp_path ${join(folder, name)};`).join('\n')
  const file = join(folder, 'nginx.conf')
  writeFileSync(
    file,
    `daemon off;\nworker_processes 1;\npid ${join(folder, 'pid')};\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n${paths}\n${site}\n}\n`,
  )
  const options = ['-p', folder, '-c', file, ...(process.getuid?.() === 0 ? ['-g', 'user root;'] : [])]
  const server = Bun.spawn([PROGRAM as string, ...options], { stdout: 'ignore', stderr: 'inherit' })
  await untilListening(port, server)
  return {
    port,
    certificate: readFileSync(certificate, 'utf8'),
    stop: async () => {
      server.kill('SIGTERM')
      await server.exited
    },
  }
}

/** Returns the configuration in the page, without its first comments. */
function shownConfiguration(): string {
  const page = readFileSync(join(import.meta.dir, '../../docs/operations/run.md'), 'utf8')
  const [, block] = /^```nginx\n(.*?)^```$/ms.exec(page) ?? []
  if (!block) throw new Error('docs/operations/run.md has no configuration of nginx')
  return block
}

function replaced(text: string, pairs: Record<string, string>): string {
  return Object.entries(pairs).reduce((changed, [old, now]) => {
    if (!changed.includes(old)) throw new Error(`the configuration has no ${old}`)
    return changed.replace(old, now)
  }, text)
}

const PUBLIC_URL = 'https://api.example.com'
const BODY_BYTES_MAX = 2 ** 20
const CLIENTS = 8

interface Answer {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly text: string
}

interface Asked {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string
  /** Address of the client. */
  readonly localAddress?: string
}

const place = usePlace()
let nginx: RunningNginx | null = null
const agent = new Agent({ keepAlive: true })
afterEach(async () => {
  await nginx?.stop()
  nginx = null
})

function ask(path: string, { method = 'GET', headers = {}, body, localAddress }: Asked = {}): Promise<Answer> {
  const { port, certificate } = nginx as RunningNginx
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', servername: 'localhost', ca: certificate, agent, localAddress }
    const own = { Authorization: `ApiKey ${KEY}`, ...headers }
    const asked = request({ ...options, port, path, method, headers: own }, (answer) => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', (piece: string) => (text += piece))
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }))
      answer.on('error', reject)
    })
    asked.on('error', reject)
    asked.end(body)
  })
}

async function start(environment: Record<string, string> = {}) {
  await startProcess({ ...place.settings, PUBLIC_URL, TRUSTED_PROXIES: '127.0.0.1', WORKERS: '1', ...environment })
  nginx = await startNginx(place.port)
}

/** Starts clients that request a list again and again. */
function startReaders() {
  const { load, stop } = startClients(`https://127.0.0.1:${nginx?.port}`, { count: CLIENTS, path: PATH, key: KEY })
  return {
    untilMore(count: number) {
      const sofar = load.good
      return until(() => load.good > sofar + count)
    },
    failures: async () => (await stop()).failures,
  }
}

function behindNginx() {
  test('behind nginx, rows are written and read over TLS, links have the public address, and the largest headers and bodies are accepted', async () => {
    await start()
    const json = { 'Content-Type': 'application/json' }
    const created = await ask('/Companies', { method: 'POST', headers: json, body: '{"Name":"Behind"}' })
    expect([created.status, JSON.parse(created.text).name]).toEqual([201, 'Behind'])
    expect(created.headers.location).toStartWith(`${PUBLIC_URL}/Companies/`)
    for (let more = 0; more < 6; more++) await ask('/Companies', { method: 'POST', headers: json, body: '{}' })
    // Links repeat the whole target, so the response has the longest possible head.
    const long = `Name=!=${'x'.repeat(190)}&`.repeat(13)
    const list = await ask(`/Companies?${long}PageSize=5`)
    expect([list.status, JSON.parse(list.text).length]).toEqual([200, 5])
    expect(String(list.headers.location).length).toBeGreaterThan(4_096)
    const padded = (bytes: number) => `{"Name":"x"${' '.repeat(bytes - 12)}}`
    const fits = await ask('/Companies', { method: 'POST', headers: json, body: padded(BODY_BYTES_MAX) })
    const exceeds = await ask('/Companies', { method: 'POST', headers: json, body: padded(2 * BODY_BYTES_MAX + 1) })
    expect([fits.status, exceeds.status]).toEqual([201, 413])
    const rows = Array(64).fill(padded(30_000)).join()
    const several = await ask('/Companies', { method: 'POST', headers: json, body: `[${rows}]` })
    expect([several.status, JSON.parse(several.text).length]).toEqual([201, 64])
  })

  test('behind nginx, clients without a key are counted by their own addresses, whatever headers they send', async () => {
    await start({ RATE_LIMITS_ANONYMOUS: '3/1h' })
    const from = async (localAddress: string, claimed: string) => {
      const headers = { Authorization: '', 'X-Forwarded-For': claimed }
      return (await ask('/Companies', { headers, localAddress })).status
    }
    const statuses: number[] = []
    for (let turn = 0; turn < 4; turn++) statuses.push(await from('127.0.0.9', `10.0.0.${turn}`))
    expect(statuses).toEqual([401, 401, 401, 429])
    expect(await from('127.0.0.10', '127.0.0.9')).toBe(401)
  })

  test('behind nginx, no request fails while two servers are restarted one after the other', async () => {
    const ports = [place.port, freePort()]
    const folders = [place.folder, dataFolder(Number(ports[1]))]
    const launch = async (index: number) => {
      const own = { PORT: String(ports[index]), DATA_DIR: String(folders[index]), WORKERS: '1' }
      return (await startProcess({ ...place.settings, PUBLIC_URL, TRUSTED_PROXIES: '127.0.0.1', ...own })).server
    }
    const servers = [await launch(0), await launch(1)]
    nginx = await startNginx(...ports)
    const clients = startReaders()
    for (const [index, server] of servers.entries()) {
      await clients.untilMore(50)
      expect(await server.stop()).toBe(0)
      await clients.untilMore(50)
      servers[index] = await launch(index)
    }
    await clients.untilMore(50)
    expect(await clients.failures()).toEqual({})
    await Promise.all(servers.map(({ stop }) => stop()))
  })
}

if (hasNginx) describe('behind nginx, as docs/operations/run.md configures it', behindNginx)
else test('behind nginx', () => leaveOut('CI_REQUIRES_NGINX', 'there is no nginx or openssl: apt-get install nginx-light'))
