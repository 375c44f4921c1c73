// Noninterference for persons. Two servers have databases that differ in data that a person may not see. Meanwhile the reporting
// lines change, on which the person's rights depend. All answers of both servers to the person must be equal byte for byte.
import type postgres from 'postgres'
import type { Entity, Property } from '../../src/model/entity.ts'
import { entities } from './entities.ts'
import type { Issuer } from './issuer.ts'
import { setManager } from './people.ts'
import { EMAIL, employee, type RandomPerson, randomPerson } from './personPairsRoles.ts'
import { connect, createDatabase } from './postgres.ts'
import { Random } from './random.ts'
import { hasSymbols, Interrupted, type PairAnswer, type PairRequest, SETTINGS, Side, showRequest } from './rightsPairsAnswers.ts'
import { hiddenNameIn } from './rightsPairsKeys.ts'
import { WriteOracle } from './rightsPairsOracle.ts'
import { FOREIGN_CURSOR, ReadsDraw, readsOf, type Seen, seenBy } from './rightsPairsReads.ts'
import { around, excerptsOf, noFindings, type PairsFindings, withoutEmpty } from './rightsPairsReport.ts'
import { parametersOf, type RandomRight } from './rightsPairsRights.ts'
import { fill, randomRows, untilSettled } from './rightsPairsRows.ts'
import { applyHidden, Secrets } from './rightsPairsSecrets.ts'
import { united } from './rightsPairsTrial.ts'
import { mayRename, mayWrite, WritesDraw } from './rightsPairsWrites.ts'
import { KEY, openServer } from './server.ts'

/** Address of another person. */
const OTHER_EMAIL = 'other@pairs.example'
/** Number of differences after which no further person is tried. */
const DIFFERENCES_MAX = 5
const AT_ONCE = 8

export interface PersonPairsOptions {
  readonly seed: number
  /** Number of persons to try, each with other roles, claims and rows. */
  readonly persons: number
  /** Number of the first person, as a difference names it. */
  readonly from?: number
  readonly reads: number
  readonly writes: number
  readonly environment?: Readonly<Record<string, string>>
}

/** Tries persons one after the other, each on two new servers. */
export async function provePersonPairs(issuer: Issuer, options: PersonPairsOptions): Promise<PairsFindings> {
  const findings = noFindings()
  const urls = await Promise.all([createDatabase(), createDatabase()])
  for (const url of urls) {
    const sql = connect(url)
    // Both servers sign cursors with the same secret, and give the person the same pseudonym.
    await sql`update cursor_secret set secret = 'the secret of both servers'`
    await sql.end()
  }
  const { from = 0, persons, seed } = options
  for (let number = from; number < from + persons && findings.differences.length < DIFFERENCES_MAX; number++) {
    const random = new Random(seed ^ Math.imul(number + 1, 0x9e3779b1))
    await new PersonTrial(issuer, urls as [string, string], random, number, options, findings).run().catch((error) => {
      if (!(error instanceof Interrupted)) throw error
      findings.interrupted++
    })
  }
  return findings
}

type Cells = Map<Property, string | null>
type MutableRows = Map<Entity, Map<number, Cells>>

const propertyOf = (name: string) => employee.properties.find((one) => one.name === name) as Property
const workEmail = propertyOf('WorkEmail')
const managerId = propertyOf('ManagerId')

/** Trial of one person on two servers. */
class PersonTrial {
  private readonly rows: MutableRows
  private readonly me: number
  /** Id of an employee who always reports to the person, and id of an employee who reports to the person later. */
  private readonly reportId: number
  private readonly newcomerId: number
  private readonly person: RandomPerson
  private readonly secrets: Secrets
  private readonly seen: readonly Seen[]
  private sides: readonly Side[] = []
  private authorization = ''
  /** Authorization of another person with the same roles: the employee with `reportId`. */
  private other = ''

  constructor(
    private readonly issuer: Issuer,
    private readonly urls: readonly [string, string],
    private readonly random: Random,
    private readonly number: number,
    private readonly options: PersonPairsOptions,
    private readonly findings: PairsFindings,
  ) {
    this.rows = randomRows(random, entities)
    const ids = [...employeesIn(this.rows).keys()]
    this.me = random.pick(ids)
    const others = ids.filter((id) => id !== this.me)
    this.reportId = random.pick(others)
    this.newcomerId = random.pick(others.filter((id) => id !== this.reportId))
    this.cellsOf(this.me).set(workEmail, EMAIL)
    this.cellsOf(this.reportId).set(workEmail, OTHER_EMAIL)
    // Both databases have the same data for the time when the newcomer reports to the person.
    for (const id of [this.reportId, this.newcomerId]) this.cellsOf(id).set(managerId, String(this.me))
    this.person = randomPerson(random, number, this.me, () => findings.refused++)
    this.secrets = new Secrets(this.rows, this.person.key)
    this.seen = seenBy(this.person.key, this.secrets)
    for (const { text } of this.person.key.rights) findings.rights.add(text)
    findings.hiddenCells += this.secrets.hiddenCells
  }

  async run(): Promise<void> {
    const pair = this.secrets.variants(this.random)
    for (const variant of pair) this.keepPeople(variant)
    const isDetached = this.detach(pair)
    const { environment = {} } = this.options
    const settings = { ...SETTINGS, ...this.issuer.settings, ROLES_FILE: 'roles', ...environment }
    const limits = { RATE_LIMITS_PERSONS: '3000/6d' }
    const servers = await Promise.all(
      this.urls.map((databaseUrl) =>
        openServer({ databaseUrl, environment: { ...limits, ...settings }, roles: this.person.roles, hasForeignRows: true }),
      ),
    )
    try {
      const { components } = (await servers[0]?.get('/openapi.json', { authorization: '' }))?.body ?? {}
      this.sides = servers.map((server) => new Side(server, JSON.stringify(components.examples)))
      await Promise.all(this.sides.map(({ server }, index) => fill(server.sql, pair[index] as MutableRows)))
      await this.settle()
      const { claims } = this.person
      this.authorization = `Bearer ${await this.issuer.tokenFor({ sub: `person ${this.number}`, ...claims })}`
      const other = { ...claims, sub: `other ${this.number}`, email: OTHER_EMAIL }
      this.other = `Bearer ${await this.issuer.tokenFor(other)}`
      await this.tryAll(isDetached)
    } finally {
      await Promise.all(servers.map((server) => server.stop()))
    }
  }

  private async tryAll(isDetached: boolean): Promise<void> {
    await this.checkVisible('at the start')
    const reads = await this.readAll()
    await this.changeHidden()
    await this.readAgain(reads)
    if (isDetached) await this.onBoth((sql) => setManager(sql, this.newcomerId, this.me))
    await this.checkVisible('after an employee has been given to the person')
    await this.readAll()
    await this.loseRow()
    await this.checkVisible('when the row of the person is back')
    if (mayWrite(this.person.key)) await this.writeAll()
    await this.checkVisible('at the end')
  }

  private cellsOf(id: number): Cells {
    return employeesIn(this.rows).get(id) as Cells
  }

  /** Adds the person and the report to both databases. Without them, the person would have other rights. */
  private keepPeople(variant: MutableRows): void {
    const employees = employeesIn(variant)
    for (const id of [this.me, this.reportId]) {
      const cells = employees.get(id) ?? new Map(this.cellsOf(id))
      // The referred rows may not exist in this database.
      if (!employees.has(id)) for (const [property] of cells) if (property.reference) cells.set(property, null)
      employees.set(id, cells)
    }
    employees.get(this.me)?.set(workEmail, EMAIL)
    employees.get(this.reportId)?.set(workEmail, OTHER_EMAIL)
    employees.get(this.reportId)?.set(managerId, String(this.me))
  }

  /**
   * Lets the newcomer have no manager at first. Does not do so if the person would then see more rows. Returns whether it was
   * done.
   */
  private detach(pair: readonly MutableRows[]): boolean {
    if (!pair.every((variant) => employeesIn(variant).has(this.newcomerId))) return false
    const before = new Map([...this.rows].map(([entity, own]) => [entity, new Map(own)]))
    employeesIn(before).set(this.newcomerId, new Map(this.cellsOf(this.newcomerId)).set(managerId, null))
    const earlier = new Secrets(before, this.person.key)
    const isLess = entities.every((entity) => {
      const later = new Set(this.secrets.readable(entity))
      return earlier.readable(entity).every((id) => later.has(id))
    })
    if (isLess) for (const variant of pair) employeesIn(variant).get(this.newcomerId)?.set(managerId, null)
    return isLess
  }

  private async onBoth(work: (sql: postgres.Sql) => Promise<unknown>): Promise<void> {
    await Promise.all(this.sides.map(({ server }) => work(server.sql)))
    for (const side of this.sides) side.forgetTags()
    await this.settle()
  }

  private async settle(): Promise<void> {
    await Promise.all(this.sides.map(({ server }) => untilSettled(server.sql)))
  }

  /** Checks that a whole key reads the same visible rows in both databases, and that the person sees exactly these. */
  private async checkVisible(moment: string): Promise<void> {
    for (const reads of readsOf(this.person.key.rights)) {
      const texts = await Promise.all(reads.map((right) => this.wholeTextOf(right, moment)))
      const wanted = texts.length === 1 ? texts[0] : united(texts)
      const target = `/${reads[0]?.entity.plural}`
      const headers = { accept: 'application/x-ndjson' }
      const request: PairRequest = { channel: 'ndjson', method: 'GET', target, headers, body: null }
      const [own] = await this.ask(request)
      if (own.body !== wanted)
        this.differ(
          `the person does not get what ${reads.length} addresses have ${moment}`,
          showRequest(request),
          own.body,
          `${wanted}`,
        )
    }
  }

  /** Returns the rows of a right, as a whole key reads them in both databases. */
  private async wholeTextOf({ entity, filters, fields }: RandomRight, moment: string): Promise<string> {
    const chosen = fields === null ? [] : [`fields=${['Id', ...fields.map(({ name }) => name)]}`]
    const target = `/${entity.plural}?${[...filters.flatMap(parametersOf), ...chosen].join('&')}`
    const texts = await Promise.all(this.sides.map(async (side) => withoutEmpty(await side.readWhole(target))))
    const [one, other] = texts as [string, string]
    if (one !== other) this.differ(`what the person may read differs ${moment}`, `GET ${target}`, one, other)
    return one
  }

  private async readAll(): Promise<Map<PairRequest, PairAnswer>> {
    const draw = new ReadsDraw(this.random, this.rows, this.seen, this.secrets)
    const answers = new Map<PairRequest, PairAnswer>()
    for (let left = this.options.reads; left > 0; left -= AT_ONCE) {
      const requests = Array.from({ length: Math.min(AT_ONCE, left) }, () => draw.next())
      // In some runs, other callers have requested the same before.
      if (this.random.chance(30)) await Promise.all(requests.map((request) => this.askOthers(request)))
      const pairs = await Promise.all(requests.map((request) => this.ask(request)))
      await Promise.all(requests.map((request, index) => this.askTogether(request, pairs[index]?.[0] as PairAnswer)))
      for (const [index, request] of requests.entries()) answers.set(request, pairs[index]?.[0] as PairAnswer)
    }
    return answers
  }

  private askOthers(request: PairRequest): Promise<unknown> {
    const others = [`ApiKey ${KEY}`, this.other]
    return Promise.all(this.sides.flatMap((side) => others.map((other) => side.ask(request, other))))
  }

  /**
   * Repeats a request while a key and a person with other rights send the same request, and compares the answer with the earlier
   * one.
   */
  private async askTogether(request: PairRequest, alone: PairAnswer): Promise<void> {
    const others = this.askOthers(request)
    const [one] = await this.ask(request)
    await others
    if (!hasSymbols(request) && one.text !== alone.text)
      this.differ('an answer differs beside others', showRequest(request), alone.text, one.text)
  }

  private async readAgain(reads: ReadonlyMap<PairRequest, PairAnswer>): Promise<void> {
    for (const [request, before] of reads) {
      if (hasSymbols(request) || !this.random.chance(30)) continue
      const [now] = await this.ask(request)
      if (now.text !== before.text)
        this.differ('an answer differs after a hidden write', showRequest(request), before.text, now.text)
    }
  }

  /** Changes hidden cells differently in the two databases, also the managers of other employees. */
  private async changeHidden(): Promise<void> {
    for (const { server } of this.sides) {
      const writes = this.secrets.hiddenWrites(this.random, 6)
      // The person's own address stays, because it is her identity.
      await applyHidden(
        server.sql,
        writes.filter(({ property, id }) => property !== workEmail || id !== this.me),
      )
      if (this.areLinesHidden) await this.changeLines(server.sql)
    }
    await this.settle()
  }

  /**
   * True if the reporting lines of other employees are hidden: the person sees no managers, and her rights compare managers only
   * with herself.
   */
  private get areLinesHidden(): boolean {
    const { rights } = this.person.key
    const isSeen = this.seen.some(
      ({ entity, properties }) => entity === employee && properties.some(({ name }) => /^Manager/.test(name)),
    )
    const compared = rights.flatMap(({ filters, becomes }) => [...filters, ...(becomes ?? [])])
    const isOther = ({ property, sign, values }: (typeof compared)[number]) =>
      /Manager/.test(property.name) && !(/(^|\.)ManagerId$/.test(property.name) && sign === '=' && values[0] === String(this.me))
    return !isSeen && !mayWrite(this.person.key) && !compared.some(isOther)
  }

  /** Gives some employees other managers, but never the person. */
  private async changeLines(sql: postgres.Sql): Promise<void> {
    const there = (await sql<{ id: string }[]>`select id from employee`).map(({ id }) => Number(id))
    const fixed = [this.me, this.reportId, this.newcomerId]
    const managers = there.filter((id) => id !== this.me)
    const own = [...employeesIn(this.rows)].filter(([, cells]) => cells.get(managerId) === String(this.me)).map(([id]) => id)
    const others = there.filter((id) => !fixed.includes(id) && !own.includes(id))
    for (let left = 4; left > 0 && others.length > 0; left--)
      await setManager(sql, this.random.pick(others), this.random.chance(20) ? null : this.random.pick(managers))
  }

  /** Checks that the person has no rights while she has no row or two rows. Then restores exactly one row. */
  private async loseRow(): Promise<void> {
    const changes: readonly ((sql: postgres.Sql) => Promise<unknown>)[] = [
      (sql) => sql`update employee set work_email = ${`not ${EMAIL}`} where id = ${this.me}`,
      (sql) => sql`insert into employee (work_email) values (${EMAIL})`,
    ]
    const [lose, undo] = this.random.chance(50)
      ? [changes[0], (sql: postgres.Sql) => sql`update employee set work_email = ${EMAIL} where id = ${this.me}`]
      : [changes[1], (sql: postgres.Sql) => sql`delete from employee where work_email = ${EMAIL} and id <> ${this.me}`]
    await this.onBoth(lose as (sql: postgres.Sql) => Promise<unknown>)
    for (const { entity } of this.person.key.rights) {
      const target = `/${entity.plural}`
      const [{ status, text }] = await this.ask({ channel: 'no rights', method: 'GET', target, headers: {}, body: null })
      if (status !== 403) this.differ('a person without a row, or of two, has rights', `GET ${target}`, text, '')
    }
    await this.onBoth(undo)
  }

  private async writeAll(): Promise<void> {
    const { random } = this
    const { key } = this.person
    const reads = new ReadsDraw(random, this.rows, this.seen, this.secrets)
    const writes = new WritesDraw(random, key, this.secrets, this.rows, reads)
    const oracle = new WriteOracle((this.sides[0] as Side).server.sql, key, entities)
    const isOrdered = !mayRename(key, entities)
    for (let left = this.options.writes; left > 0; left--) {
      const request = writes.next()
      const before = await oracle.before(request)
      const [answer] = await this.ask(request)
      // A person who changes her own row, or the reporting lines, may lose her rights.
      if (answer.status !== 403)
        for (const fault of await oracle.faultsOf(request, answer, before))
          this.differ(fault, showRequest(request), String(before.row), answer.text)
      const read = reads.next()
      if ((isOrdered || !read.target.startsWith('/Changes')) && random.chance(35)) await this.ask(read)
    }
  }

  /** Sends a request to both servers, and compares their answers. Stores ETags and tokens for later requests. */
  private async ask(request: PairRequest): Promise<[PairAnswer, PairAnswer]> {
    const askBoth = () =>
      Promise.all(this.sides.map((side) => side.ask(request, this.authorization))) as Promise<[PairAnswer, PairAnswer]>
    let [one, other] = await askBoth()
    if (one.text !== other.text && request.target.startsWith('/Changes')) {
      // One of the servers may not have had the newest events yet.
      await this.settle()
      ;[one, other] = await askBoth()
    }
    this.findings.pairs++
    const counts = (this.findings.channels[request.channel] ??= {})
    counts[one.status] = (counts[one.status] ?? 0) + 1
    if (request.channel === FOREIGN_CURSOR && one.status < 400)
      this.differ('a cursor of a key is valid', showRequest(request), one.text, '')
    if (one.text !== other.text) this.differ('two answers differ', showRequest(request), one.text, other.text)
    else if (one.status >= 500) this.differ(`the answer is ${one.status}`, showRequest(request), one.text, '')
    const named = hiddenNameIn(this.person.key, entities, request, one, (this.sides[0] as Side).errorsText)
    if (named !== null)
      this.differ(`the answer names ${named}, which is hidden`, showRequest(request), ...around(one.body, named))
    for (const [index, side] of this.sides.entries()) side.note(request, [one, other][index] as PairAnswer)
    return [one, other]
  }

  private differ(what: string, request: string, one: string, other: string): void {
    const { left, right } = excerptsOf(one, other)
    const told = [this.person.roles, JSON.stringify(this.person.claims), this.person.key.text]
      .join('\n')
      .replaceAll('\n', '\n    ')
    this.findings.differences.push(
      `person ${this.number} of seed ${this.options.seed}, row ${this.me}: ${what}\n    ${told}\n  ${request}\n  one:   ${left}\n  other: ${right}`,
    )
  }
}

function employeesIn(rows: MutableRows): Map<number, Cells> {
  return rows.get(employee) as Map<number, Cells>
}
