import { workersOf } from '../support/process.ts'
import { Random } from '../support/random.ts'
import { untilSettled } from '../support/settled.ts'
import { HookReader } from './hookReader.ts'
import { Cluster } from './lists/cluster.ts'
import { crashPostgres, signal, terminate } from './lists/faults.ts'

interface Options {
  readonly seed: number
  /** Faults, each followed by some writes. */
  readonly rounds: number
  readonly writers?: number
  /** Writes that are answered between two faults. */
  readonly writes?: number
}

interface Found {
  readonly differences: readonly string[]
  readonly answered: number
  readonly unanswered: number
  readonly lines: number
  /** Of the hook; what came again counts again. */
  readonly deliveries: number
  readonly rows: number
}

interface Line {
  readonly token: string
  readonly entity: string
  readonly id: number
  readonly action: 'create' | 'update' | 'delete'
}

type Fault = (cluster: Cluster, random: Random) => Promise<unknown>
const FAULTS: readonly Fault[] = [
  async ({ pid }, random) => signal(random.pick(workersOf(pid)), 'SIGKILL'),
  (cluster) => cluster.restartPostgres('SIGINT'),
  (cluster) => terminate(cluster, 'roster%'),
  (cluster) => cluster.restartPostgres('SIGQUIT'),
  (cluster) => crashPostgres(cluster),
]

/** Keeps a copy by the changes, and has webhooks posted, while clients write and things are killed; says where either differs from the database. */
export async function proveChanges({ seed, rounds, writers = 8, writes = 60 }: Options): Promise<Found> {
  let hooks: HookReader | null = null
  const cluster = await Cluster.open({ WORKERS: '2', CHANGES_VALUES: 'on', HOOKS_ALLOW: '127.0.0.1' }, { isAlone: true })
  try {
    const random = new Random(seed)
    await cluster.untilAnswered()
    const copy = new Copy(cluster)
    await copy.begin()
    hooks = await HookReader.open(cluster)
    const clients = Array.from({ length: writers }, (_, index) => new Writer(cluster, new Random(seed + index + 1)))
    let isOver = false
    const work = Promise.all(clients.map((client) => client.run(() => isOver)))
    const following = copy.follow(() => isOver)
    const answered = () => clients.reduce((sum, client) => sum + client.answered, 0)
    const untilWritten = async () => {
      for (const most = answered() + writes; answered() < most; ) await Bun.sleep(20)
    }
    for (let round = 0; round < rounds; round++) {
      await untilWritten()
      await FAULTS[round % FAULTS.length]?.(cluster, random)
    }
    await untilWritten()
    isOver = true
    await Promise.all([work, following])
    await cluster.untilAnswered()
    await untilIdle(cluster)
    await untilSettled(cluster.sql)
    await copy.catchUp()
    await hooks.untilTold()
    const differences = [...(await copy.differences()), ...(await brokenChains(cluster)), ...hooks.differences(copy.lines)]
    const unanswered = clients.reduce((sum, client) => sum + client.unanswered, 0)
    return {
      differences,
      answered: answered(),
      unanswered,
      lines: copy.lines.length,
      rows: copy.rows.size,
      deliveries: hooks.deliveries,
    }
  } finally {
    await cluster.close()
    await hooks?.close()
  }
}

/** What was sent and not answered may still be done until then. */
async function untilIdle({ sql }: Cluster) {
  for (;;) {
    const [row] = await sql`
      select count(*)::int as count from pg_stat_activity where application_name like 'roster%' and state <> 'idle'`
    if (row?.count === 0) return
    await Bun.sleep(50)
  }
}

class Writer {
  answered = 0
  unanswered = 0
  /** Rows that it knows of, the others' too. */
  private static readonly IDS_MAX = 60

  constructor(
    private readonly cluster: Cluster,
    private readonly random: Random,
  ) {}

  async run(isOver: () => boolean) {
    while (!isOver()) {
      const { status } = await this.write()
      if (status >= 200 && status < 500) this.answered++
      else this.unanswered++
    }
  }

  private write(): Promise<{ status: number }> {
    const { cluster, random } = this
    const id = 1 + random.below(Writer.IDS_MAX)
    const companyId = random.chance(30) ? null : 1 + random.below(Writer.IDS_MAX)
    const name = `n${random.below(5)}`
    const kind = random.below(13)
    if (kind >= 10) return this.writeBySql(id, name)
    if (kind < 2) return cluster.ask('/Companies', 'POST', { Name: name })
    if (kind < 4) return cluster.ask('/Employees', 'POST', { FirstName: name, CompanyId: companyId })
    if (kind < 6) return cluster.ask(`/Companies/${id}`, 'PATCH', { Name: name, Enabled: random.chance(50) })
    if (kind < 8) return cluster.ask(`/Employees/${id}`, 'PATCH', { LastName: name, CompanyId: companyId })
    if (kind < 9) return cluster.ask(`/Employees/${id}`, 'PUT', { LastName: name })
    return cluster.ask(random.chance(50) ? `/Companies/${id}` : `/Employees/${id}`, 'DELETE')
  }

  /** Past the service, in transactions of several statements that take some time, and may be undone. */
  private async writeBySql(id: number, name: string): Promise<{ status: number }> {
    const { cluster, random } = this
    const statements = [
      `insert into company (name, enabled) values ('${name}', true), ('${name}', false)`,
      `insert into employee (first_name, company_id, company_key) select '${name}', id, name_key from company where id % 7 = ${random.below(7)} limit 3`,
      `update company set name = '${name}' where id in (${id}, ${id + 1})`,
      `update employee set last_name = '${name}' where id % 5 = ${random.below(5)} and id <= ${Writer.IDS_MAX}`,
      `delete from employee where id = ${id}`,
      `delete from company where id = ${id} and not exists (select from employee where company_id = ${id})`,
    ]
    const chosen = Array.from({ length: 1 + random.below(3) }, () => random.pick(statements))
    // As one query, which is one transaction, and survives the end of its connection.
    const text = chosen.join(`; select pg_sleep(0.00${random.below(10)}); `)
    return cluster.sql.unsafe(random.chance(20) ? `${text}; select 1 / 0` : text).then(
      () => ({ status: 200 }),
      // Also by a deadlock, a reference that has gone, a lost connection.
      () => ({ status: 500 }),
    )
  }
}

/** Rows by their paths, as answers have them. */
class Copy {
  readonly rows = new Map<string, string>()
  readonly lines: Line[] = []
  private next = 'now'

  constructor(private readonly cluster: Cluster) {}

  /** There are no rows yet. */
  async begin() {
    await this.page('')
  }

  async follow(isOver: () => boolean) {
    while (!isOver()) await this.page('&wait=1')
  }

  async catchUp() {
    while ((await this.page('')) > 0);
  }

  /** Once it is answered, and each of its rows was read. */
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

  /** '' for a row that is not there. @throws Error for any other refusal */
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
    for (const [plural, table] of [
      ['Companies', 'company'],
      ['Employees', 'employee'],
    ] as const)
      for (const { id } of await this.cluster.sql.unsafe(`select id from ${table}`)) {
        const path = `/${plural}/${id}`
        there.set(path, await this.answer(path))
      }
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

/** Where a line has found another value than the line before it has left. */
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
