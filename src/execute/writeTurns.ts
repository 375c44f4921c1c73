import { busyWithWrites } from './outcomes.ts'
import { Turns } from './turns.ts'
import type { Sending } from './work.ts'

/** Connections on which no write waits for a lock: reads by id, readiness and keys have these. */
const READS_MIN = 2
/** Writes that wait for a turn, of one key and of all; further ones are refused at once. */
const WAITING_OF_ONE_MAX = 200
const WAITING_MAX = 600
/** Between attempts: at random, so that two writes do not meet again. */
const PAUSE_MS = 40

/** The turns of writes at a pool's connections: a key that writes what is locked holds up its own writes alone. */
export class WriteTurns {
  private readonly turns: Turns

  constructor(poolSize: number) {
    this.turns = new Turns(Math.max(1, poolSize - READS_MIN))
  }

  /** @throws ApiError ServiceUnavailable where too many wait already */
  requireRoom(asker: string): void {
    const { turns } = this
    if (turns.waiting(asker) >= WAITING_OF_ONE_MAX || turns.waiting() >= WAITING_MAX) throw busyWithWrites()
  }

  /** Resolves with what ends the turn when the write may take a connection. */
  async take(asker: string, sending: Sending): Promise<() => void> {
    sending.wait(true)
    const release = await new Promise<() => void>((resolve) => this.turns.take(asker, resolve))
    sending.wait(false)
    return release
  }

  /** Waits without a connection for a lock, or a connection, that was not there in time. */
  async pause(sending: Sending | null): Promise<void> {
    sending?.wait(true)
    await Bun.sleep(PAUSE_MS * (0.5 + Math.random()))
  }
}
