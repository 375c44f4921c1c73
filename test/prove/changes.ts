import { workersOf } from '../support/process.ts'
import { Random } from '../support/random.ts'
import { untilSettled } from '../support/settled.ts'
import { HookReader } from './hookReader.ts'
import { Findings } from './lists/check.ts'
import { Cluster } from './lists/cluster.ts'
import { crashPostgres, type Fault, signal, terminate } from './lists/faults.ts'
import { fill, readIds, writeOnce, writeOutside } from './lists/writes.ts'

interface Options {
  readonly seed: number
  /** Number of faults, each followed by some writes. */
  readonly rounds: number
  /** Number of answered writes between two faults. */
  readonly writes?: number
}

interface Found {
  readonly differences: readonly string[]
  readonly answered: number
  readonly unanswered: number
  readonly lines: number
  /** Deliveries of the hook, including repeated ones. */
  readonly deliveries: number
  readonly rows: number
}

interface Line {
  readonly token: string
  readonly entity: string
  readonly id: number
  readonly action: 'create' | 'update' | 'delete'
}

const WRITERS = 8
const FAULTS: readonly Fault[] = [
  async ({ pid }, random) => signal(random.pick(workersOf(pid)), 'SIGKILL'),
  (cluster) => cluster.restartPostgres('SIGINT'),
  (cluster) => terminate(cluster, 'roster%'),
  (cluster) => cluster.restartPostgres('SIGQUIT'),
  (cluster) => crashPostgres(cluster),
]

/**
 * Keeps a copy by the change feed and receives webhooks, while clients write and processes are killed. Returns how the copy and
 * the webhooks differ from the database.
 */
export async function proveChanges({ seed, rounds, writes = 60 }: Options): Promise<Found> {
  let hooks: HookReader | null = null
  const cluster = await Cluster.open({ cached: { CHANGES_VALUES: 'on', HOOKS_ALLOW: '127.0.0.1' }, isAlone: true })
  try {
    const random = new Random(seed)
    await cluster.untilAnswered()
    const copy = new Copy(cluster)
    await copy.begin()
    hooks = await HookReader.open(cluster)
    await fill(cluster)
    const findings = new Findings()
    const ids = await readIds(cluster)
    let isOver = false
    let answered = 0
    let unanswered = 0
    const write = async () => {
      while (!isOver) {
        if (random.chance(25)) await writeOutside(cluster, random, findings)
        const status = await writeOnce(cluster, random, ids, findings, true)
        if (status >= 200 && status < 500) answered++
        else unanswered++
        if (status === 0) await Bun.sleep(20)
      }
    }
    const work = Promise.all([copy.follow(() => isOver), ...Array.from({ length: WRITERS }, write)])
    const untilWritten = async () => {
      for (const most = answered + writes; answered < most; ) await Bun.sleep(20)
    }
    for (let round = 0; round < rounds; round++) {
      await untilWritten()
      await FAULTS[round % FAULTS.length]?.(cluster, random)
    }
    await untilWritten()
    isOver = true
    await work
    await cluster.untilAnswered()
    await cluster.untilQuiet()
    await untilSettled(cluster.sql)
    await copy.catchUp()
    await hooks.untilTold()
    const differences = [...(await copy.differences()), ...(await brokenChains(cluster)), ...hooks.differences(copy.lines)]
    const [lines, rows] = [copy.lines.length, copy.rows.size]
    return { differences, answered, unanswered, lines, rows, deliveries: hooks.deliveries }
  } finally {
    await cluster.close()
    await hooks?.close()
  }
}

/** A copy: rows as JSON, by path. */
class Copy {
  readonly rows = new Map<string, string>()
  readonly lines: Line[] = []
  private next = 'now'

  constructor(private readonly cluster: Cluster) {}

  /** Reads the first token of the feed while the database is empty. */
  async begin() {
    await this.page('')
  }

  async follow(isOver: () => boolean) {
    while (!isOver()) await this.page('&wait=1')
  }

  async catchUp() {
    while ((await this.page('')) > 0);
  }

  /** Reads a page of changes, reads the current row of each change, and stores these rows in the copy. */
  private async page(more: string): Promise<number> {
    const { changes, next } = JSON.parse(await this.answer(`/Changes?after=${this.next}&PageSize=100${more}`))
    for (const { entity, id } of changes as Line[]) {
      const path = `/${entity}/${id}`
      const text = await this.answer(path)
      if (text === '') this.rows.delete(path)
      else this.rows.set(path, text)
    }
    this.lines.push(...changes)
    this.next = next
    return changes.length
  }

  /** Reads a row; '' if it does not exist. @throws Error for any other refusal */
  private async answer(path: string): Promise<string> {
    for (;;) {
      const { status, text } = await this.cluster.ask(path)
      if (status === 200) return text
      if (status === 404) return ''
      if (status >= 400 && status < 500) throw new Error(`${path} is answered ${status}: ${text}`)
      await Bun.sleep(50)
    }
  }

  async differences(): Promise<string[]> {
    const found: string[] = []
    const there = new Map<string, string>()
    for (const [plural, ids] of Object.entries(await readIds(this.cluster)))
      for (const id of ids) there.set(`/${plural}/${id}`, await this.answer(`/${plural}/${id}`))
    const lasts = new Map<string, string>()
    for (const { entity, id, action } of this.lines) {
      const path = `/${entity}/${id}`
      if (((lasts.get(path) ?? 'none') === 'none') !== (action === 'create'))
        found.push(`${path}: ${action} after ${lasts.get(path)}`)
      if (lasts.get(path) === 'delete') found.push(`${path}: ${action} after its deletion`)
      lasts.set(path, action)
    }
    for (const path of new Set([...there.keys(), ...lasts.keys(), ...this.rows.keys()])) {
      if (there.has(path) !== (lasts.get(path) !== 'delete')) found.push(`${path}: its last line is ${lasts.get(path)}`)
      const [own, theirs] = [this.rows.get(path), there.get(path)]
      if (own !== theirs) found.push(`${path}: the copy has ${own}, the database ${theirs}`)
    }
    const tokens = this.lines.map(({ token }) => token)
    if (new Set(tokens).size !== tokens.length) found.push('a line has come twice')
    return found
  }
}

/** Returns changed values whose old value is not the new value of the previous change of the same property. */
async function brokenChains({ sql }: Cluster): Promise<string[]> {
  const broken = await sql`
    with value as (
      select entity, id, position, number, name, was, is_now,
        lag(is_now) over (partition by entity, id, name order by position, number) as left_by,
        row_number() over (partition by entity, id, name order by position, number) as turn
      from entity_change cross join lateral unnest(changed, before, after) as v (name, was, is_now)
    )
    select entity, id, name, was, left_by from value where turn > 1 and was is distinct from left_by`
  return broken.map(({ entity, id, name, was, left_by }) => `${entity} ${id}: ${name} was ${was}, and left as ${left_by}`)
}
