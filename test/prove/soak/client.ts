import { Connection, type RawResponse } from '../../support/connection.ts'
import type { Random } from '../../support/random.ts'
import { bytesOf } from '../../support/requests.ts'
import { type Kept, type OwnRow, pickCollection, see, shapes } from './rows.ts'
import type { Tally } from './tally.ts'

const ANSWER_MS_MAX = 20_000
const ROWS_MAX = 6
/** Maximum pause in ms between requests: a soak sends few requests for a long time. */
const PAUSE_MS_MAX = 120
const RETRIES_MAX = 60
const RETRY_MS = 250

interface Place {
  readonly url: string
  /** True if the client sends an Idempotency-Key, and repeats a write whose outcome is unknown. */
  readonly repeats: boolean
}

/** A client that writes its own rows, and reads them by id and in lists. It knows the possible states of each row. */
export class SoakClient {
  /** Rows with a known state, which this client may write again. */
  readonly rows: OwnRow[] = []
  /** Rows that are deleted, or whose last write has an unknown outcome. They are only read, and checked at the end. */
  readonly retired: OwnRow[] = []
  private readonly connection: Connection
  private made = 0

  constructor(
    private readonly name: string,
    private readonly place: Place,
    private readonly random: Random,
    private readonly tally: Tally,
  ) {
    this.connection = new Connection(place.url)
  }

  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      await this.step()
      await Bun.sleep(this.random.below(PAUSE_MS_MAX))
    }
    this.connection.close()
  }

  private async step(): Promise<void> {
    const { random, rows } = this
    const chance = random.below(100)
    if (rows.length < 2 || (chance < 12 && rows.length < ROWS_MAX)) return this.create(pickCollection(random))
    const row = random.pick(rows)
    if (chance < 45) return this.read(row)
    if (chance < 60) return this.list(row)
    if (chance < 65 && this.retired.length > 0) return this.read(random.pick(this.retired))
    if (chance < 93) return this.change(row, random.chance(50) ? 'PUT' : 'PATCH')
    return this.remove(row)
  }

  private async create(collection: Kept): Promise<void> {
    const row: OwnRow = { collection, marker: `${this.name}-${++this.made}`, id: null, states: [null, 1] }
    const outcome = await this.write('POST', `/${collection}`, shapes[collection].body(row.marker, 1))
    if (outcome === 'nothing') return
    if (outcome !== 'unknown') {
      row.id = JSON.parse(outcome.body).id
      row.states = [1]
      this.rows.push(row)
    } else this.retired.push(row)
  }

  private async change(row: OwnRow, method: 'PUT' | 'PATCH'): Promise<void> {
    const version = (row.states[0] as number) + 1
    const outcome = await this.write(method, pathOf(row), shapes[row.collection].body(row.marker, version))
    if (outcome === 'nothing') return
    if (outcome === 'unknown') return this.retire(row, version)
    row.states = [version]
    this.tally.judge(see(row, shapes[row.collection].versionOf(JSON.parse(outcome.body))))
  }

  private async remove(row: OwnRow): Promise<void> {
    const outcome = await this.write('DELETE', pathOf(row))
    if (outcome === 'nothing') return
    this.retire(row, null)
    if (outcome !== 'unknown') row.states = [null]
  }

  private retire(row: OwnRow, next: number | null) {
    row.states = [...row.states, next]
    this.rows.splice(this.rows.indexOf(row), 1)
    this.retired.push(row)
    // The oldest of these rows is no longer read; it is only checked at the end.
    if (this.retired.length > 40 && this.retired[0]?.states.length === 1) this.tally.settled.push(this.retired.shift() as OwnRow)
  }

  private async read(row: OwnRow): Promise<void> {
    if (row.id === null) return
    const answer = await this.ask('GET', pathOf(row), [200, 404])
    if (answer === null) return
    const seen = answer.status === 404 ? null : shapes[row.collection].versionOf(JSON.parse(answer.body))
    this.tally.judge(see(row, seen))
  }

  /** Requests a list with only this row, by the row's last values. The answer may come from memory. */
  private async list(row: OwnRow): Promise<void> {
    const { collection, marker } = row
    const [version] = row.states as [number]
    const [[name, value]] = Object.entries(shapes[collection].body(marker, version)) as [[string, string]]
    const answer = await this.ask('GET', `/${collection}?${name}==${encodeURIComponent(value)}&PageSize=5`, [200])
    if (answer === null) return
    const found = JSON.parse(answer.body)
    const isExact = found.length === 1 && found[0].id === row.id && answer.headers.get('x-total-count') === '1'
    this.tally.judge(isExact ? null : `the list of ${marker} v${version} is ${answer.body}`)
    if (isExact) this.tally.judge(see(row, shapes[collection].versionOf(found[0])))
  }

  /** Sends a write, and repeats it if this client repeats. Returns the response, `nothing` if nothing was done, or `unknown`. */
  private async write(method: string, path: string, body?: object): Promise<RawResponse | 'nothing' | 'unknown'> {
    const { repeats } = this.place
    const own = repeats ? [`Idempotency-Key: ${this.uuid()}`] : []
    for (let attempt = 0; ; attempt++) {
      const answer = await this.ask(method, path, [200, 201, 204], body, own)
      if (answer !== null) return answer
      if (this.isUndone) return 'nothing'
      if (!repeats || attempt === RETRIES_MAX) {
        this.tally.count('writes of unknown outcome')
        return 'unknown'
      }
      await Bun.sleep(RETRY_MS)
      this.tally.count('writes repeated')
    }
  }

  /** True if the last response said that nothing was done. */
  private isUndone = false

  /** Sends a request. Returns null if the response is not as expected: the tally then needs a fault that explains it. */
  private async ask(
    method: string,
    path: string,
    expected: readonly number[],
    body?: object,
    more: readonly string[] = [],
  ): Promise<RawResponse | null> {
    const bytes = bytesOf(method, path, body === undefined ? '' : JSON.stringify(body), more)
    const sentMs = performance.now()
    const late = setTimeout(() => this.connection.close(), ANSWER_MS_MAX)
    const answer = await this.connection.send(bytes, false).catch(() => null)
    clearTimeout(late)
    const status = answer?.status ?? 0
    const code = status >= 400 ? JSON.parse(answer?.body || '{}').Error?.Code : ''
    this.isUndone = status >= 400 && code !== 'InProgress' && (status !== 503 || code !== 'OutcomeUnknown')
    const isExpected = expected.includes(status)
    this.tally.answered({
      kind: `${method} ${status}${status === 503 ? ` ${code}` : ''}`,
      sentMs,
      // With `InProgress`, an earlier request with this Idempotency-Key is still in progress.
      isExpected: isExpected || (more.length > 0 && code === 'InProgress'),
      what: `${method} ${path}`,
    })
    return isExpected ? answer : null
  }

  private uuid(): string {
    const hex = () => this.random.below(0x10000).toString(16).padStart(4, '0')
    return `${hex()}${hex()}-${hex()}-${hex()}-${hex()}-${hex()}${hex()}${hex()}`
  }
}

function pathOf({ collection, id }: OwnRow): string {
  return `/${collection}/${id}`
}
