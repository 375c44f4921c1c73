// Trial of one key on two servers whose databases differ in data that the key may not see.
import { entities as declared } from './entities.ts'
import type { Random } from './random.ts'
import {
  hasSymbols,
  isDryRun,
  linkedTarget,
  type PairAnswer,
  type PairRequest,
  SETTINGS,
  Side,
  showRequest,
  withoutDryRun,
} from './rightsPairsAnswers.ts'
import { BROKEN, followBoth, longPoll } from './rightsPairsFollow.ts'
import { acceptedKey, hiddenNameIn, isAccepted, kindOf, recordOf, wholeKey } from './rightsPairsKeys.ts'
import { type Before, WriteOracle } from './rightsPairsOracle.ts'
import { FOREIGN_CURSOR, ReadsDraw, readsOf, type Seen, seenBy } from './rightsPairsReads.ts'
import { around, excerptsOf, type PairsFindings, type PairsOptions, withoutEmpty } from './rightsPairsReport.ts'
import {
  type Kind,
  keyOf,
  narrowerKey,
  parametersOf,
  pathOf,
  type RandomKey,
  type RandomRight,
  twinOf,
} from './rightsPairsRights.ts'
import { fill, randomRows, untilSettled } from './rightsPairsRows.ts'
import { applyHidden, Secrets } from './rightsPairsSecrets.ts'
import { openShadow, withoutCursors } from './rightsPairsShadow.ts'
import { dryRunOf, mayRename, mayWrite, WritesDraw } from './rightsPairsWrites.ts'
import { KEY, makeKey, type TestKey } from './server.ts'

/** Number of requests that are sent at the same time. */
const AT_ONCE = 8
/** Chance in percent that hidden writes leave out a server. */
const ONE_SIDED = 40
const DOCUMENT: PairRequest = { channel: 'document', method: 'GET', target: '/openapi.json', headers: {}, body: null }
/** Matches channels whose answers depend on one entity only. */
const OF_ONE_ENTITY = /^(list|csv|ndjson|summary|hidden|misspelled|several|html|dry run of)|^row/
/** First of some ids without a row, which another key writes at the same time. */
const NO_ROW = 9_990

/** Trial of one key on two servers. */
export class Trial {
  private key: RandomKey = keyOf([])
  private twin: RandomKey | null = null
  private subject: TestKey = makeKey()
  private other: TestKey = makeKey()
  private secrets: Secrets | null = null
  private rows: ReturnType<typeof randomRows> = new Map()
  private readonly entities = declared
  private readonly sides: readonly [Side, Side]

  constructor(
    private readonly left: Side,
    private readonly right: Side,
    private readonly random: Random,
    private readonly number: number,
    private readonly options: PairsOptions,
    private readonly findings: PairsFindings,
  ) {
    this.sides = [left, right]
  }

  async run(): Promise<void> {
    await this.begin()
    const secrets = this.secrets as Secrets
    const seen = seenBy(this.key, secrets)
    await this.checkVisible('at the start')
    const reads = await this.readAll(seen)
    if (this.random.chance(40)) await this.askTogether(DOCUMENT, (await this.ask(DOCUMENT))[0])
    await this.checkCharges()
    if (this.isShadowed) await this.compareShadow(seen)
    await this.writeHidden(secrets)
    await this.readAgain(reads)
    await this.follow(seen, secrets)
    if (mayWrite(this.key)) await this.writeAll(seen, secrets)
    await this.checkVisible('at the end')
    await this.checkCharges()
  }

  private async onBoth(work: (side: Side) => Promise<void>): Promise<void> {
    await Promise.all(this.sides.map(work))
  }

  private get isShadowed(): boolean {
    const every = this.options.shadowEvery ?? 0
    return every > 0 && this.number % every === every - 1
  }

  private get kind(): Kind {
    return this.isShadowed ? 'narrow' : (this.options.kind ?? kindOf(this.number))
  }

  private async begin(): Promise<void> {
    const { random, entities } = this
    this.rows = randomRows(random, entities)
    this.key = this.options.isWhole ? wholeKey(entities) : acceptedKey(random, this.kind, () => this.findings.refused++)
    this.twin = this.options.isWhole ? null : twinOf(random, this.key, entities)
    if (this.twin && !isAccepted(this.twin, entities)) this.twin = null
    this.secrets = new Secrets(this.rows, this.key)
    const [one, other] = this.secrets.variants(random)
    this.subject = makeKey({ name: 'subject', ...recordOf(this.key) })
    this.other = makeKey({ name: 'other', ...recordOf(this.twin ?? this.key) })
    const records = [this.subject.record, this.other.record]
    for (const side of this.sides) side.reset()
    await Promise.all([fill(this.left.server.sql, one), fill(this.right.server.sql, other)])
    await this.onBoth(({ server }) => untilSettled(server.sql))
    await this.onBoth(({ server }) => server.replaceKeys(records))
    for (const { text } of this.key.rights) this.findings.rights.add(text)
    this.findings.hiddenCells += this.secrets.hiddenCells
  }

  /**
   * Checks that a key with all rights reads the same visible rows in both databases, and that the key sees exactly these rows.
   */
  private async checkVisible(moment: string): Promise<void> {
    for (const reads of readsOf(this.key.rights)) {
      const texts = await Promise.all(reads.map((right) => this.wholeTextOf(right, moment)))
      const wanted = texts.length === 1 ? (texts[0] as string) : united(texts)
      const [right] = reads as [RandomRight]
      const request: PairRequest = {
        channel: 'ndjson',
        method: 'GET',
        target: `/${pathOf(right)}`,
        headers: { accept: 'application/x-ndjson' },
        body: null,
      }
      const [own] = await this.ask(request)
      const isNarrow = right.view !== undefined || reads.every(({ filters }) => filters.length > 0)
      if (isNarrow && own.headers.has('x-changes-after'))
        this.report('a stream has a token of changes that the key may not read', showRequest(request), own.text, '')
      if (own.body !== wanted)
        this.report(`the key does not get what ${reads.length} addresses have ${moment}`, showRequest(request), own.body, wanted)
    }
  }

  /** Reads the rows of a right with a key that has all rights. The rows must be the same on both servers. */
  private async wholeTextOf({ entity, filters, fields }: RandomRight, moment: string): Promise<string> {
    const chosen = fields === null ? [] : [`fields=${['Id', ...fields.map(({ name }) => name)]}`]
    const target = `/${entity.plural}?${[...filters.flatMap(parametersOf), ...chosen].join('&')}`
    const texts = await Promise.all(this.sides.map(async (side) => withoutEmpty(await side.readWhole(target))))
    const [one, other] = texts as [string, string]
    if (one !== other) this.report(`what the key may read differs ${moment}`, `GET ${target}`, one, other)
    return one
  }

  private async readAll(seen: readonly Seen[]): Promise<Map<PairRequest, PairAnswer>> {
    const draw = new ReadsDraw(this.random, this.rows, seen, this.secrets as Secrets)
    const answers = new Map<PairRequest, PairAnswer>()
    for (let left = this.options.reads; left > 0; left -= AT_ONCE) {
      // Concurrent reads of single rows can be combined into one statement.
      const ofRows = seen.length > 0 && this.random.chance(30)
      const requests = Array.from({ length: Math.min(AT_ONCE, left) }, () =>
        ofRows ? draw.row(this.random.pick(seen)) : draw.next(),
      )
      // In some runs, other keys have requested the same before.
      if (this.random.chance(30)) await Promise.all(requests.map((request) => this.askOthers(request)))
      const alone = await this.askAtOnce(requests)
      await Promise.all(requests.map((request, index) => this.askTogether(request, alone[index]?.[0] as PairAnswer)))
      for (const [index, request] of requests.entries()) answers.set(request, alone[index]?.[0] as PairAnswer)
      for (const [request, { status, text }] of answers)
        if (request.channel === FOREIGN_CURSOR && status < 400)
          this.report('a cursor of another key is valid', showRequest(request), text, '')
      await Promise.all(requests.map((request, index) => this.followLinks(request, alone[index]?.[0] as PairAnswer)))
    }
    return answers
  }

  /** Follows the links of a page, and sends the request again with the page's ETag. */
  private async followLinks(request: PairRequest, page: PairAnswer): Promise<void> {
    const tag = page.headers.get('etag')
    // The ETag of a row contains its version, which differs.
    if (tag?.startsWith('W/') && !request.channel.startsWith('row') && this.random.chance(15))
      await this.compare({ ...request, channel: 'not modified', headers: { ...request.headers, 'if-none-match': tag } })
    let target = linkedTarget(page, 'next')
    for (let pages = 1 + this.random.below(3); target !== null && pages > 0; pages--) {
      const [next] = await this.compare({ ...request, channel: 'list, linked', target })
      const back = this.random.chance(30) ? linkedTarget(next, 'prev') : null
      target = back ?? linkedTarget(next, 'next')
    }
  }

  /**
   * Starts a server that has only the properties that the key reads. A key with all rights must get the same answers from it as
   * the key gets from the other server.
   */
  private async compareShadow(seen: readonly Seen[]): Promise<void> {
    const [one] = seen as [Seen]
    const { entity, properties } = one
    const { databaseUrl } = this.left.server
    const { url, close } = await openShadow(entity, properties, databaseUrl, { ...SETTINGS, ...this.options.environment })
    const shadow = new Side({ ...this.left.server, url }, '')
    try {
      const draw = new ReadsDraw(this.random, this.rows, seen, this.secrets as Secrets)
      const creates = this.key.rights.find(({ verbs }) => verbs.includes('create'))
      for (let left = this.options.reads; left > 0; left--) {
        const request =
          creates && this.random.chance(25)
            ? dryRunOf(this.random, creates)
            : this.random.chance(40)
              ? draw.strange(one)
              : draw.next(one)
        if (!OF_ONE_ENTITY.test(request.channel) || hasSymbols(request)) continue
        // The key with all rights may write everything, so answers with `may` differ.
        if (/[?&]may=/.test(request.target)) continue
        const [[own], whole] = await Promise.all([this.compare(request), shadow.ask(request, `ApiKey ${KEY}`)])
        this.findings.pairs++
        const [text, other] = [withoutCursors(own), withoutCursors(whole)]
        if (text !== other)
          this.report('a view is answered unlike an entity without other properties', showRequest(request), text, other)
      }
    } finally {
      await close()
    }
  }

  /** Follows the change feed while first hidden values change, then visible values, and then the rights. */
  private async follow(seen: readonly Seen[], secrets: Secrets): Promise<void> {
    const open = seen.filter(({ right, ids }) => !right.view && right.filters.length === 0 && ids.length > 0)
    if (open.length === 0 || this.findings.followed >= (this.options.followsMax ?? 0)) return
    this.findings.followed++
    const { entity, properties, ids } = this.random.pick(open)
    const poll = this.compare(longPoll(entity.plural))
    const hidden = secrets.hiddenWrites(this.random, 6).filter((write) => write.entity === entity)
    const id = this.random.pick(ids)
    const property = properties.find(({ kind, writable }) => writable && kind.name === 'text')
    const shown = property && [{ entity, id, property, value: `seen by ${this.number}` }]
    // With a right to only one row, the key may not follow the feed any more.
    const narrow = { ...this.subject.record, ...recordOf({ rights: [], text: `read ${entity.plural}?Id=${id}` }) }
    const [one, other] = await followBoth(this.sides, entity.plural, `ApiKey ${this.subject.text}`, {
      hide: () => applyHidden(this.left.server.sql, hidden),
      show: shown
        ? {
            event: new RegExp(`"changed":\\[[^\\]]*"${property.name}"`),
            change: () => this.onBoth(({ server }) => applyHidden(server.sql, shown)),
          }
        : null,
      narrow: async () => {
        await this.onBoth(({ server }) => server.replaceKeys([narrow, this.other.record]))
        await applyHidden(
          this.left.server.sql,
          hidden.map((write) => ({ ...write, value: null })),
        )
      },
    })
    await poll
    await this.onBoth(({ server }) => server.replaceKeys([this.subject.record, this.other.record]))
    for (const side of this.sides) side.forgetTags()
    // On a busy machine a connection may break, so that the rest of the stream is missing.
    if (`${one}${other}`.includes(BROKEN)) return
    this.findings.pairs++
    if (one !== other) this.report('followed changes differ', `GET /Changes?after=now&entity=${entity.plural}`, one, other)
    if (!one.includes('"Forbidden"'))
      this.report('a stream of changes outlives its right', `GET /Changes?entity=${entity.plural}`, one, '')
  }

  private askOthers(request: PairRequest): Promise<unknown> {
    const keys = [KEY, this.other.text]
    return Promise.all(this.sides.flatMap((side) => keys.map((key) => side.ask(request, `ApiKey ${key}`))))
  }

  /** Repeats a request while keys with other rights send the same request, and compares the answer with the earlier one. */
  private async askTogether(request: PairRequest, alone: PairAnswer): Promise<void> {
    const others = this.askOthers(request)
    const [one] = await this.compare(request)
    await others
    if (!hasSymbols(request) && one.text !== alone.text)
      this.report('an answer differs beside other keys', showRequest(request), alone.text, one.text)
  }

  /** Checks that both servers charge the key equally: what it is charged must not depend on hidden data. */
  private async checkCharges(): Promise<void> {
    const request: PairRequest = { channel: 'charges', method: 'GET', target: '/Nowhere', headers: {}, body: null }
    const [one, other] = await this.ask(request)
    if (this.sides.some(({ hasRepeated }) => hasRepeated)) return
    const difference = Number(one.remaining) - Number(other.remaining)
    this.chargesBefore ??= difference
    if (difference !== this.chargesBefore)
      this.report('the charges differ', showRequest(request), String(one.remaining), String(other.remaining))
  }

  /** Difference of the remaining requests at the first check: earlier keys with the same name may have been charged unequally. */
  private chargesBefore: number | null = null

  /** Writes hidden cells directly, differently in the two databases, or in only one of them. */
  private async writeHidden(secrets: Secrets): Promise<void> {
    for (const side of this.sides) {
      side.forgetTags()
      if (!this.random.chance(ONE_SIDED)) await applyHidden(side.server.sql, secrets.hiddenWrites(this.random, 6))
    }
  }

  private async readAgain(reads: ReadonlyMap<PairRequest, PairAnswer>): Promise<void> {
    const chosen = [...reads].filter(([request]) => !hasSymbols(request) && this.random.chance(30))
    await Promise.all(
      chosen.map(async ([request, before]) => {
        const [now] = await this.compare(request)
        if (now.text !== before.text)
          this.report('an answer differs after a hidden write', showRequest(request), before.text, now.text)
      }),
    )
  }

  private async writeAll(seen: readonly Seen[], secrets: Secrets): Promise<void> {
    const { random } = this
    const reads = new ReadsDraw(random, this.rows, seen, secrets)
    const writes = new WritesDraw(random, this.key, secrets, this.rows, reads)
    const oracle = new WriteOracle(this.left.server.sql, this.key, this.entities)
    // In the feed, concurrent writes can have any order, and so can the rows that a rename changes.
    let isOrdered = !mayRename(this.key, this.entities)
    for (let left = this.options.writes; left > 0; left--) {
      if (random.chance(12)) {
        isOrdered = false
        await this.writeTogether(writes.several(4), oracle)
      } else await this.write(writes.next(), oracle)
      const read = reads.next()
      if ((isOrdered || !read.target.startsWith('/Changes')) && random.chance(35)) await this.ask(read)
      if (random.chance(5)) await this.writeHidden(secrets)
    }
    if (random.chance(60)) await this.replayNarrower(writes.replays)
  }

  /**
   * Repeats writes with an `Idempotency-Key` after the key has lost rights to read. The stored answers must not show rows that
   * the key cannot read now.
   */
  private async replayNarrower(replays: readonly PairRequest[]): Promise<void> {
    const whole = this.key
    const narrow = narrowerKey(this.random, whole)
    if (replays.length === 0 || !isAccepted(narrow, this.entities)) return
    this.key = narrow
    const record = { ...this.subject.record, ...recordOf(narrow) }
    await this.onBoth(({ server }) => server.replaceKeys([record, this.other.record]))
    const oracle = new WriteOracle(this.left.server.sql, narrow, this.entities)
    for (const request of replays) {
      const [answer] = await this.compare({ ...request, channel: 'replay, fewer rights' })
      for (const fault of await oracle.faultsOfReplay(request, answer)) this.report(fault, showRequest(request), answer.text, '')
    }
    this.key = whole
    await this.onBoth(({ server }) => server.replaceKeys([this.subject.record, this.other.record]))
  }

  private async write(request: PairRequest, oracle: WriteOracle): Promise<void> {
    const before = await oracle.before(request)
    const [answer] = await this.ask(request)
    if (isDryRun(request)) await this.compareDryRun(request, answer)
    for (const fault of await oracle.faultsOf(request, answer, before))
      this.report(fault, showRequest(request), String(before.row), answer.text)
  }

  /** Checks that a dry run gives the same answer as the write that follows. */
  private async compareDryRun(dry: PairRequest, said: PairAnswer): Promise<void> {
    const [done] = await this.ask({ ...dry, channel: `write after a ${dry.channel}`, target: withoutDryRun(dry.target) })
    const isSame = said.status === 200 ? done.status < 300 : done.text === said.text
    if (!isSame) this.report('a dry run says something else than the write', showRequest(dry), said.text, done.text)
  }

  /** Writes different rows at the same time as another key, whose rights have other values. */
  private async writeTogether(requests: readonly PairRequest[], oracle: WriteOracle): Promise<void> {
    const before = await Promise.all(requests.map((request) => oracle.before(request)))
    const besides = this.sides.flatMap((side) =>
      requests.map((request, index) => {
        const target = request.target.replace(/\d+$/, String(NO_ROW + index))
        return side.ask({ ...request, target }, `ApiKey ${this.other.text}`)
      }),
    )
    const answers = await this.askAtOnce(requests)
    await Promise.all(besides)
    for (const [index, request] of requests.entries()) {
      const [answer] = answers[index] as [PairAnswer, PairAnswer]
      const faults = await oracle.faultsOf(request, answer, before[index] as Before)
      for (const fault of faults) this.report(fault, showRequest(request), String(before[index]?.row), answer.text)
    }
  }

  /** Sends a request to both servers, and compares their answers. Stores ETags and tokens for later requests. */
  private async ask(request: PairRequest): Promise<[PairAnswer, PairAnswer]> {
    const [answers] = await this.askAtOnce([request])
    return answers as [PairAnswer, PairAnswer]
  }

  /** Sends several requests at the same time, each as `ask` does. Stores their ETags and tokens in the order of the requests. */
  private async askAtOnce(requests: readonly PairRequest[]): Promise<[PairAnswer, PairAnswer][]> {
    const answers = await Promise.all(requests.map((request) => this.compare(request)))
    for (const [index, request] of requests.entries())
      for (const [place, side] of this.sides.entries()) side.note(request, answers[index]?.[place] as PairAnswer)
    return answers
  }

  private async compare(request: PairRequest): Promise<[PairAnswer, PairAnswer]> {
    const authorization = `ApiKey ${this.subject.text}`
    const askBoth = () => Promise.all([this.left.ask(request, authorization), this.right.ask(request, authorization)])
    let [one, other] = await askBoth()
    if (one.text !== other.text && request.target.startsWith('/Changes')) {
      // One of the servers may not have had the newest events yet.
      await this.onBoth(({ server }) => untilSettled(server.sql))
      ;[one, other] = await askBoth()
    }
    this.findings.pairs++
    const counts = (this.findings.channels[request.channel] ??= {})
    counts[one.status] = (counts[one.status] ?? 0) + 1
    if (one.text !== other.text) this.report('two answers differ', showRequest(request), one.text, other.text)
    else if (one.status >= 500) this.report(`the answer is ${one.status}`, showRequest(request), one.text, '')
    const named = hiddenNameIn(this.key, this.entities, request, one, this.left.errorsText)
    if (named !== null)
      this.report(`the answer names ${named}, which is hidden`, showRequest(request), ...around(one.body, named))
    return [one, other]
  }

  private report(what: string, request: string, one: string, other: string): void {
    const { left, right } = excerptsOf(one, other)
    const rights = this.key.text.replaceAll('\n', '\n    ')
    this.findings.differences.push(
      `key ${this.number} of seed ${this.options.seed}: ${what}\n  rights\n    ${rights}\n  ${request}\n  one:   ${left}\n  other: ${right}`,
    )
  }
}

/** Returns the lines of all texts by their ids, each once. */
export function united(texts: readonly string[]): string {
  const lines = texts.flatMap((text) => text.split('\n')).filter((line) => line !== '')
  const byId = new Map(lines.map((line) => [Number(/^\{"id":(\d+)/.exec(line)?.[1]), line]))
  return [...byId]
    .sort(([one], [other]) => one - other)
    .map(([, line]) => `${line}\n`)
    .join('')
}
