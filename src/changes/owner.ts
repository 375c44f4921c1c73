import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '../log.ts'
import type { Entity } from '../model/entity.ts'
import { monotonicMs } from '../os/clock.ts'
import type { Region } from '../os/region.ts'
import { createSealed, type SealedRegion } from '../os/sealed.ts'
import type { Copy, Stranger } from './catalog.ts'
import type { Choice } from './choice.ts'
import { wasUsed } from './demand.ts'
import type { FollowHandlers, Following } from './follow.ts'
import { changeLogWords } from './layout.ts'
import { listenForChanges } from './listener.ts'
import type { Ask } from './listenerStatements.ts'
import { endConnections, selectBusy } from './listenerStatements.ts'
import {
  bumpEpoch,
  ChangeLogWriter,
  expireLease,
  isLeasedSince,
  lagOf,
  noteLag,
  notePosition,
  renewLease,
  withhold,
} from './log.ts'
import { ChangePublisher } from './publisher.ts'
import { tableMask } from './recorder.ts'
import type { SlotAddresses } from './slotConnection.ts'
import { readSlot } from './slotReader.ts'
import { Troubles } from './troubles.ts'
import { type UnknownOutcome, WriterSlots } from './writerSlots.ts'

/** What a process needs to use the change log of its machine. */
export interface ChangeLogAccess {
  readonly path: string
  /** Whose ring it is to write to. */
  readonly ring: number
  /** The value of `roster.machine` on its connections: writes over them need not notify, since the process publishes them. */
  readonly machine: string
  /** What the names of these connections begin with. */
  readonly connections: string
}

interface Options {
  /** Where the memory is to lie. */
  folder: string
  /** Processes that are to run at once. */
  workers: number
  log: Pick<Log, 'info' | 'warn'>
  /** A pooler is between the processes and the database: the names of their connections may be those of others, too. */
  isPooled?: boolean
  /** What mends itself sooner is not worth a line. */
  troubleMs?: number
}

/** A worker that is replaced and its successor run side by side for a moment. */
const RINGS_FOR_WORKER = 2
const RINGS_MORE = 2
const TROUBLE_MS = 10_000
/** A process that has asked for a list, or written, is likely to do so again. */
const USED_MS = 1_000
/** A lease is renewed more often, and less often at rest. */
const LIVE_MS = 15_000
/** A pooler that has lost a client passes its statement on within this time, or never. */
const POOLED_MS = 2_000

/** The log of changes of this machine's processes, and in it, what others have written. */
export class ChangeLogOwner {
  private readonly machine = crypto.randomUUID()
  private readonly memory: SealedRegion
  private readonly region: Region
  private readonly rings: WriterSlots
  private readonly publisher: ChangePublisher
  private following: Following | null = null
  private readonly troubles: Troubles
  private readonly isPooled: boolean
  /** When each was looked at first, of those behind a pooler. */
  private readonly seenMs = new WeakMap<UnknownOutcome, number>()

  /** @throws Error when there is no room for the log */
  constructor({ folder, workers, log, isPooled = false, troubleMs = TROUBLE_MS }: Options) {
    this.isPooled = isPooled
    const last = RINGS_FOR_WORKER * workers + RINGS_MORE
    const path = join(folder, 'changes')
    // A server that was killed has left it; its workers may still end, and write to theirs.
    rmSync(path, { force: true })
    this.memory = createSealed(path, `changes ${1 + last}`, changeLogWords(1 + last))
    this.region = this.memory.region
    expireLease(this.region)
    this.rings = new WriterSlots(this.region, last)
    this.publisher = new ChangePublisher(new ChangeLogWriter(this.region, 0), this.region)
    this.troubles = new Troubles(log, troubleMs)
  }

  /** Follows writes from outside this machine from now on: not before the tables are there. */
  follow(addresses: SlotAddresses, entities: readonly Entity[], way: Choice['way']): void {
    if (this.following) return
    const common = this.handlersOf(entities)
    const columns = new Map(entities.map(({ table, properties }) => [table, properties.map(({ column }) => column)]))
    if (way === 'notify') {
      this.following = listenForChanges(addresses.url, {
        ...common,
        columns,
        onWrite: (table, machine) => {
          if (machine !== this.machine) this.publisher.publishReset(table)
        },
        onRow: (table, machine, change) => {
          if (machine !== this.machine) this.publisher.publishForeign(table, change, false)
        },
        onEndOf: (transaction) => this.publisher.publishEnd(transaction),
      })
      return
    }
    this.following = readSlot(addresses, {
      ...common,
      columns,
      onRow: (table, change, isLast) => this.publisher.publishForeign(table, change, isLast),
      onReset: (table) => this.publisher.publishReset(table),
      onFollowed: (transaction) => this.publisher.publishFollowed(transaction),
      onPosition: (position) => notePosition(this.region, position),
    })
  }

  private handlersOf(entities: readonly Entity[]): FollowHandlers {
    return {
      machine: this.machine,
      tables: entities.map(({ table }) => table),
      copies: copiesOf(entities),
      onStrangers: (strangers) => {
        withhold(this.region, bitsOf(strangers, entities))
        this.troubles.noteStrangers(strangers)
      },
      onBegin: () => bumpEpoch(this.region),
      onPulse: (untilMs) => {
        noteLag(this.region, monotonicMs() - untilMs)
        renewLease(this.region, untilMs)
        this.troubles.end('listener')
      },
      onEnd: (reason, needsOperator) => {
        expireLease(this.region)
        this.troubles.note('listener', reason, needsOperator ? 0 : undefined)
      },
      isWanted: () => wasUsed(this.region, USED_MS) || this.rings.unknownOutcomes.length > 0,
      attend: (ask) => this.settle(ask),
    }
  }

  get isFollowing(): boolean {
    return this.following !== null
  }

  /** For a new process; null: there is no ring for it, and while it lives lists come from the database. */
  enter(process: number): ChangeLogAccess | null {
    const connections = `roster ${crypto.randomUUID()}`
    const ring = this.rings.take(process, connections)
    return ring === null ? null : { path: this.memory.path, ring, machine: this.machine, connections }
  }

  /** The process has ended. Its last writes may be unpublished, or may only be done from now on. */
  leave(process: number): void {
    this.rings.end(process)
    this.wake()
  }

  /** The same of what was sent over connections of this name. */
  disown(connections: string): void {
    this.rings.disown(connections)
    this.wake()
  }

  /** How late the news of other machines were, as of the last time they were asked for. */
  get lagMs(): number {
    return lagOf(this.region)
  }

  /** Whether writes of others are known until a moment ago, so that lists may come from memory. */
  get isLive(): boolean {
    return isLeasedSince(this.region, monotonicMs() - LIVE_MS)
  }

  /** A process needs the log again after a rest. */
  wake(): void {
    this.following?.wake()
  }

  async stop(): Promise<void> {
    await this.following?.stop()
    this.memory.close()
  }

  /** Whether no pooler can still pass the write on. */
  private isRipe(outcome: UnknownOutcome): boolean {
    if (!this.isPooled) return true
    const seenMs = this.seenMs.get(outcome)
    if (seenMs === undefined) this.seenMs.set(outcome, performance.now())
    return seenMs !== undefined && performance.now() - seenMs >= POOLED_MS
  }

  /** Ends the connections that are in outcome, and asks with the next pulse whether they are gone. */
  private async settle(ask: Ask) {
    const { unknownOutcomes, areTooFew } = this.rings
    if (areTooFew) this.troubles.note('rings', 'more workers run than there are slots in the change log')
    else this.troubles.end('rings')
    if (unknownOutcomes.length === 0) return this.troubles.end('unknownOutcomes')
    this.troubles.note('unknownOutcomes', 'a connection with an unknown write is still open')
    const statement = this.isPooled ? selectBusy : endConnections
    const left = await ask(statement, [JSON.stringify(unknownOutcomes.map(({ connections }) => connections))])
    const names = new Set(left.map(([name]) => name))
    for (const outcome of unknownOutcomes)
      if (!names.has(outcome.connections) && this.isRipe(outcome)) this.rings.settle(outcome)
  }
}

/** What the database changes along with a row; `WriteRecorder` publishes it. */
function copiesOf(entities: readonly Entity[]): Copy[] {
  return entities.flatMap(({ table, properties }) =>
    properties.flatMap(({ reference }) =>
      reference?.copy ? [{ table, source: reference.table, column: reference.copy.sourceColumn }] : [],
    ),
  )
}

function bitsOf(strangers: readonly Stranger[], entities: readonly Entity[]): number {
  const reached = entities.filter((entity) => strangers.some(({ table }) => table === null || table === entity.table))
  return tableMask(entities, reached)
}
