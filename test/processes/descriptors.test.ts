import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { headers, LISTENS, PATH, usePlace } from '../support/place.ts'
import { run, until, workersOf } from '../support/process.ts'
import { KEY } from '../support/server.ts'

const TIMEOUT_MS = 120_000
const LIMIT = 200
const CLIENTS = 400
const FULL = /no descriptors left: new clients wait until others have left/g

const place = usePlace()

function start() {
  const settings = { DATABASE_URL: place.DATABASE_URL, DATA_DIR: place.folder, PORT: String(place.port), WORKERS: '1' }
  const limits = { RATE_LIMITS: '1000000/1s', RATE_LIMIT_CLIENTS: '2', LOG_FORMAT: 'pretty', LOG_LEVEL: 'warn' }
  // Both limits: the runtime raises the soft one to the hard one.
  const command = ['sh', '-c', `ulimit -n ${LIMIT}; exec "$0" --no-env-file src/main.ts`, process.execPath]
  return run(command, { ...settings, ...limits, BOOTSTRAP_API_KEY: KEY })
}

/** Processor time that the process has used, in seconds. */
function usedSeconds(pid: number): number {
  const [, , ...fields] = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '0 0 ')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

if (process.platform === 'linux') {
  test(
    'where clients take all descriptors the rest wait, with one line and no spinning core; requests are served',
    async () => {
      const server = start()
      const [, url = ''] = await server.waitFor(LISTENS)
      const [worker = 0] = workersOf(server.pid)
      const open = () => readdirSync(`/proc/${worker}/fd`).length
      const served = new Connection(place.port)
      // Before any connection to the database but one is there.
      expect(await served.ask('/livez')).toBe(200)
      const clients: Socket[] = []
      for (let index = 0; index < CLIENTS; index++) {
        const client = connect(place.port, '127.0.0.1', () => client.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n'))
        client.on('error', () => undefined) // shed
        clients.push(client)
      }
      await server.waitFor(FULL)
      // What is kept is free for connections to the database: different reads, so that they are not one.
      const paths = Array.from({ length: 12 }, (_, index) => `/Companies?Name=${index}`)
      for (const path of paths) expect(await served.ask(path)).toBe(200)
      await until(() => clients.some((client) => client.bytesRead > 0))
      expect(open()).toBeLessThan(LIMIT)

      const since = { at: performance.now(), used: usedSeconds(worker) }
      await Bun.sleep(2_000)
      const share = (usedSeconds(worker) - since.used) / ((performance.now() - since.at) / 1_000)
      expect(share).toBeLessThan(0.1)
      expect(await served.ask('/Companies?Name=last')).toBe(200)
      expect(server.output().match(FULL)).toHaveLength(1)

      // They have left: others are accepted again.
      for (const client of clients) client.destroy()
      const status = () =>
        fetch(url + PATH, { headers, keepalive: false }).then(
          ({ status }) => status,
          () => null,
        )
      await until(async () => (await status()) === 200)
      served.end()
      server.kill('SIGTERM')
      expect(await server.ended).toBe(0)
    },
    TIMEOUT_MS,
  )
} else test('how many descriptors there are is not known here', () => expect(process.platform).not.toBe('linux'))

/** A connection that is kept, and asked over again and again. */
class Connection {
  private readonly socket: Socket
  private answer = ''
  private onData = () => {}

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1')
    this.socket.on('data', (chunk) => {
      this.answer += chunk.toString('latin1')
      this.onData()
    })
  }

  /** The status of the answer to a GET. */
  async ask(path: string): Promise<number> {
    this.answer = ''
    const whole = new Promise<void>((done) => {
      this.onData = () => {
        const [head = '', body] = this.answer.split('\r\n\r\n')
        const length = Number(/content-length: (\d+)/i.exec(head)?.[1])
        if (body !== undefined && body.length >= length) done()
      }
    })
    this.socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ApiKey ${KEY}\r\n\r\n`)
    await whole
    return Number(this.answer.split(' ')[1])
  }

  end(): void {
    this.socket.destroy()
  }
}
