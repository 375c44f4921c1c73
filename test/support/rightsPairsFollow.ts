// Streams and long polls of the change feed. Meanwhile hidden rows change, then visible rows, and then the rights of the key.
import type { PairRequest, Side } from './rightsPairsAnswers.ts'
import { normalBody } from './rightsPairsAnswers.ts'

/** Time in ms in which an event for a hidden change would arrive: the server polls the feed several times in it. */
const SILENCE_MS = 400
const WAIT_MS_MAX = 10_000

/** Text that follows the lines of a stream if its connection breaks. */
export const BROKEN = 'the stream is broken'

/** A stream of changes, line by line. */
class FollowedChanges {
  private text = ''
  private isEnded = false

  private constructor(readonly status: number) {}

  static async open(side: Side, plural: string, authorization: string): Promise<FollowedChanges> {
    const headers = { authorization, accept: 'application/x-ndjson', 'accept-encoding': 'identity' }
    const url = `${side.server.url}/Changes?after=now&entity=${plural}`
    const answer = await fetch(url, { headers })
    const followed = new FollowedChanges(answer.status)
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

  /** Returns the lines that have arrived, without tokens and times. */
  get lines(): string {
    return normalBody(this.text)
  }

  private async read(answer: Response): Promise<void> {
    const decoder = new TextDecoder()
    try {
      for await (const chunk of answer.body ?? []) this.text += decoder.decode(chunk, { stream: true })
    } catch (error) {
      this.text += `${BROKEN}: ${error}`
    }
    this.isEnded = true
  }
}

/** Returns a request that waits up to a second for an event. */
export function longPoll(plural: string): PairRequest {
  const target = `/Changes?after=now&entity=${plural}&wait=1`
  return { channel: 'changes, waiting', method: 'GET', target, headers: {}, body: null }
}

/** Steps to take while both servers are followed. */
export interface FollowSteps {
  /** Changes hidden values. */
  hide(): Promise<void>
  /** Changes a visible value, and matches the text of the event that must then arrive; null if there is no such value. */
  readonly show: { readonly event: RegExp; change(): Promise<void> } | null
  /** Takes the right away. */
  narrow(): Promise<void>
}

/** Follows the feed of both servers until the streams end. Returns what each server has sent. */
export async function followBoth(
  sides: readonly [Side, Side],
  plural: string,
  authorization: string,
  { hide, show, narrow }: FollowSteps,
): Promise<[string, string]> {
  const streams = await Promise.all(sides.map((side) => FollowedChanges.open(side, plural, authorization)))
  await Promise.all(streams.map((stream) => stream.until(/\n/)))
  await hide()
  await Bun.sleep(SILENCE_MS)
  if (show) {
    await show.change()
    await Promise.all(streams.map((stream) => stream.until(show.event)))
  }
  await narrow()
  await Promise.all(streams.map((stream) => stream.untilEnd()))
  return streams.map(({ status, lines }) => `${status}\n${lines}`) as [string, string]
}
