import { connect } from 'node:net'

/**
 * Kinds of writes of greedy keys. They write rows of the same eight employees, except `slow bodies`, whose requests never end.
 */
export const WRITES = ['opposite', 'renames', 'all', 'slow bodies'] as const
export type Writes = (typeof WRITES)[number]

/** Kinds of lists of greedy keys: long sorts, or filters by parts of texts that all rows have. */
export const LISTS = ['sorts', 'parts of texts'] as const
export type Lists = (typeof LISTS)[number]
/** Number of filters of one property: half of the maximum of a request. */
const PARTS = 16

/** Number of employees that greedy keys write. */
export const CONTENDED = 8

/** Pause between requests in ms. With it, a key stays below the default limit of 750 requests a minute. */
export const PAUSE_MS = 85

/** A request to write something. */
interface Write {
  readonly method: string
  readonly path: string
  readonly body: unknown
  readonly headers?: Record<string, string>
}

/** Sends a request; returns the status once the response is read to its end; 0 if the client left, or the connection broke. */
export async function statusOf(
  url: string,
  key: string,
  signal: AbortSignal | null,
  { method, body, headers: own }: Omit<Write, 'path'> = { method: 'GET', body: undefined },
): Promise<number> {
  const headers = { ...own, ...(key === '' ? {} : { authorization: `ApiKey ${key}` }) }
  const content = body === undefined ? {} : { body: JSON.stringify(body) }
  if (body !== undefined) Object.assign(headers, { 'content-type': 'application/json' })
  try {
    const response = await fetch(url, { method, headers, ...content, ...(signal ? { signal } : {}) })
    await response.text()
    return response.status
  } catch {
    return 0
  }
}

/** Sends the beginning of a body of several rows, and waits until the server closes the connection. */
function sendSlowly(url: string, key: string): Promise<number> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const lines = [
    `POST /Companies HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: ApiKey ${key}\r\n`,
    'Content-Type: application/json\r\nContent-Length: 2000000\r\n\r\n[{"Name":"a',
  ]
  socket.write(lines.join(''))
  const { promise, resolve } = Promise.withResolvers<number>()
  let status = 0
  socket.on('data', (piece) => (status ||= Number(piece.toString('latin1').slice(9, 12))))
  socket.on('error', () => undefined).on('close', () => resolve(status))
  return promise
}

/** Returns the next write of an attack; each differs. */
function writeOf(kind: Exclude<Writes, 'slow bodies'>, number: number): Write {
  const one = () => 1 + Math.floor(Math.random() * CONTENDED)
  const name = `Last ${number} ${Math.random()}`
  if (kind === 'renames') return { method: 'PATCH', path: '/Employees/1', body: { LastName: name } }
  const opposite = { method: 'PATCH', path: `/Employees/${one()}`, body: { LastName: name, ManagerId: one() } }
  if (kind === 'opposite') return opposite
  const rows = Array.from({ length: 20 }, () => ({ EmployeeId: one(), Status: name }))
  const writes: Write[] = [
    opposite,
    { ...opposite, method: 'PUT' },
    { method: 'POST', path: '/Absences', body: rows },
    { method: 'POST', path: '/Absences', body: rows[0] },
    { method: 'DELETE', path: `/Employees/${one()}`, body: undefined },
  ]
  const write = writes[number % writes.length] as Write
  return number % 2 === 0 ? write : { ...write, headers: { 'idempotency-key': `"${crypto.randomUUID()}"` } }
}

/** Returns the next list of an attack; each differs. */
function listOf(kind: Lists, number: number): string {
  if (kind === 'sorts') return `/Absences?Reason=!=x${number}&Type=!=Type 3&sort=Employee,-Period.Hours,Reason&page=${number}`
  const part = (index: number) => `Employee[contains]=${'FIRST last'.slice(index % 3, 5 - (number % 2))}`
  const parts = Array.from({ length: PARTS }, (_, index) => part(index)).join('&')
  // Pages by number, lists after an id, and groups take turns.
  const rest = [`sort=-Start&page=${number}`, `Id=>${number}`, 'groupBy=Type'][number % 3]
  return `/Absences${number % 3 === 2 ? '/Summary' : ''}?${parts}&Type=!=x${number}&${rest}`
}

if (import.meta.main) {
  const { URL = '', KEYS = '', CONNECTIONS, LEAVE_MS, WRITES: kind, LISTS: lists = '' } = process.env
  const [keys, connections] = [KEYS.split(','), Number(CONNECTIONS)]
  let asked = 0
  const statuses: Record<number, number> = {}
  const client = async (number: number) => {
    for (;;) {
      const list = listOf(lists as Lists, ++asked)
      const signal = LEAVE_MS ? AbortSignal.timeout(Number(LEAVE_MS)) : null
      const key = keys[number % keys.length] as string
      const isSlow = kind === 'slow bodies'
      const { path = list, ...write } = kind && !isSlow ? writeOf(kind as 'all', asked) : { method: 'GET', body: undefined }
      const status = isSlow ? await sendSlowly(URL, key) : await statusOf(URL + path, key, signal, write)
      statuses[status] = (statuses[status] ?? 0) + 1
      // All clients of a key together send as many requests as its limit admits.
      await Bun.sleep((PAUSE_MS * connections) / keys.length)
    }
  }
  process.on('SIGTERM', () => {
    console.log(`${asked} were asked for, with ${JSON.stringify(statuses)}`)
    process.exit(0)
  })
  for (let number = 0; number < connections; number++) client(number)
  console.log('all clients ask')
}
