// Streams and long polls of the change feed, while rows change that the key does not see, and then its rights.
import type { PairRequest, Side } from './rightsPairsAnswers.ts'
import { normalBody } from './rightsPairsAnswers.ts'

/** Time in which a hidden change would be told, in ms: some polls of the feed. */
const SILENCE_MS = 400
const WAIT_MS_MAX = 10_000

/** A stream of changes, line by line. */
export class FollowedChanges {
  private text = ''
  private isEnded = false
  private readonly abort = new AbortController()

  private constructor(readonly status: number) {}

  static async open(side: Side, plural: string, authorization: string): Promise<FollowedChanges> {
    const abort = new AbortController()
    const headers = { authorization, accept: 'application/x-ndjson', 'accept-encoding': 'identity' }
    const url = `${side.server.url}/Changes?after=now&entity=${plural}`
    const answer = await fetch(url, { headers, signal: abort.signal })
    const followed = new FollowedChanges(answer.status)
    followed.abort.signal.addEventListener('abort', () => abort.abort())
    void followed.read(answer)
    return followed
  }

  /** Waits until the lines so far match. */
  async until(pattern: RegExp): Promise<void> {
    const endMs = performance.now() + WAIT_MS_MAX
    while (!pattern.test(this.text) && !this.isEnded) {
      if (performance.now() > endMs) throw new Error(`a stream of changes has no ${pattern}: ${this.text}`)
      await Bun.sleep(10)
    }
  }

  /** Waits until the server ends the stream. */
  async untilEnd(): Promise<void> {
    const endMs = performance.now() + WAIT_MS_MAX
    while (!this.isEnded && performance.now() < endMs) await Bun.sleep(10)
    if (!this.isEnded) this.text += 'the stream has not ended'
  }

  /** The lines so far, without tokens and times. */
  get lines(): string {
    return normalBody(this.text)
  }

  close(): void {
    this.abort.abort()
  }

  private async read(answer: Response): Promise<void> {
    const decoder = new TextDecoder()
    try {
      for await (const chunk of answer.body ?? []) this.text += decoder.decode(chunk, { stream: true })
    } catch (error) {
      this.text += `the stream is broken: ${error}`
    }
    this.isEnded = true
  }
}

/** Waits as long as a server needs to tell of a change. */
export function silence(): Promise<void> {
  return Bun.sleep(SILENCE_MS)
}

/** A request that waits a second for an event. */
export function longPoll(plural: string): PairRequest {
  const target = `/Changes?after=now&entity=${plural}&wait=1`
  return { channel: 'changes, waiting', method: 'GET', target, headers: {}, body: null }
}
