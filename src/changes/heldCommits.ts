import type { Snapshot } from './snapshot.ts'

/** A transaction that the log has, and what to do once it may be known of. */
export interface Commit {
  /** Its number, counted from the cluster's beginning (xid8). */
  readonly transaction: number
  /** The position behind it in the log. */
  readonly end: bigint
  publish(): void
}

/** What arrives meanwhile is looked at together: a look is a round trip, and under load there are thousands of commits a second. */
const PAUSE_MS = 2
/** Where commits stay invisible, as while a synchronous standby is away, there is no hurry. */
const PAUSE_MS_MAX = 20

/**
 * Commits that PostgreSQL has written to its log, and that no snapshot may see yet: it streams a commit when that is on disk,
 * and shows it only afterwards; a standby that it waits for may be away for minutes between the two. A process that knew of a commit
 * before would ask, get an answer without it, and keep that as one that has it. So each is held until a snapshot sees it.
 */
export class HeldCommits {
  private held: Commit[] = []
  private isLooking = false
  private lookedMs = Number.NEGATIVE_INFINITY
  private isEnded = false

  /** `ask`: the snapshot of now. `onFault`: it could not be had, and nothing more is published. */
  constructor(
    private readonly ask: () => Promise<Snapshot>,
    private readonly onRelease: () => void,
    private readonly onFault: (error: Error) => void,
  ) {}

  /** Behind this position of the log commits are held; null: none is. */
  get first(): bigint | null {
    return this.held[0]?.end ?? null
  }

  add(commit: Commit): void {
    this.held.push(commit)
  }

  /** Looks which may be published, until all have been. */
  lookOn(): void {
    if (!this.isLooking && this.held.length > 0) this.keepLooking()
  }

  /** Publishes all that this snapshot sees, in the order of their commits. */
  release(snapshot: Snapshot): void {
    const { held } = this
    if (held.length === 0) return
    this.held = held.filter((commit) => {
      const isSeen = snapshot.sees(commit.transaction)
      if (isSeen) commit.publish()
      return !isSeen
    })
    this.onRelease()
  }

  end(): void {
    this.isEnded = true
    this.held = []
  }

  private async keepLooking() {
    this.isLooking = true
    try {
      for (let pauseMs = PAUSE_MS; this.held.length > 0; ) {
        const dueMs = this.lookedMs + pauseMs - performance.now()
        if (dueMs > 0) await Bun.sleep(dueMs)
        const before = this.held.length
        const snapshot = await this.ask()
        if (this.isEnded) return
        this.lookedMs = performance.now()
        this.release(snapshot)
        pauseMs = this.held.length < before ? PAUSE_MS : Math.min(2 * pauseMs, PAUSE_MS_MAX)
      }
    } catch (error) {
      if (!this.isEnded) this.onFault(error as Error)
    } finally {
      this.isLooking = false
    }
  }
}
