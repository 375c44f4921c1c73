import { type ChangesToken, writeToken } from '../model/changesToken.ts'
import { type ChangeLine, lineText, nextText } from '../respond/changes.ts'

/** Lines of what has changed that were read together. */
export interface ChangesPage {
  readonly lines: readonly ChangeLine[]
  readonly more: boolean
  /** Behind all that was read: what comes later lies behind it. */
  readonly end: ChangesToken
}

interface FollowParts {
  readOn(after: ChangesToken): Promise<ChangesPage>
  /** True: there is a line. False: time has passed, the client has gone, its key is another, or too many wait. */
  wait(after: ChangesToken, untilMs: number): Promise<boolean>
  /** Looks at the key and its rights as they are now. @throws ApiError */
  readmit(isCharged: boolean): Promise<void>
  /** The client has gone, or the server ends. */
  isOver(): boolean
  readonly heartbeatMs?: number
}

/** For as many lines begun a request is charged, the first by the one that asks. */
const CHARGED_LINES = 1_000
/** Where nothing comes a token does, so that neither the connection nor the client's place grows old. */
const HEARTBEAT_MS = 15_000
/** The key is looked at so often, though news of it comes by itself. */
const LOOK_MS = 1_000

/**
 * What has changed, line by line, from the first page on; and where there is no more, or none comes, a line with the token behind all
 * that was read.
 */
export async function* followTexts(first: ChangesPage, parts: FollowParts): AsyncGenerator<string> {
  const { heartbeatMs = HEARTBEAT_MS } = parts
  let paidLines = CHARGED_LINES
  let isBehind = true
  for (let page = first; ; ) {
    const { lines, more, end } = page
    if (lines.length > paidLines) {
      await parts.readmit(true)
      paidLines += CHARGED_LINES
    }
    paidLines -= lines.length
    if (lines.length > 0) yield lines.map((line) => `${lineText(line, false)}\n`).join('')
    if (!more) {
      if (isBehind || lines.length === 0) yield nextText(writeToken(end))
      isBehind = false
      await untilNews(end, performance.now() + heartbeatMs, parts)
    }
    if (parts.isOver()) return
    await parts.readmit(false)
    page = await parts.readOn(end)
  }
}

async function untilNews(after: ChangesToken, untilMs: number, parts: FollowParts): Promise<void> {
  while (!parts.isOver() && performance.now() < untilMs) {
    const lookMs = Math.min(performance.now() + LOOK_MS, untilMs)
    if ((await parts.wait(after, lookMs)) || parts.isOver()) return
    await parts.readmit(false)
    const earlyMs = lookMs - performance.now()
    if (earlyMs <= 0) continue
    // The key is another, or too many wait, and then it is read once a second.
    await Bun.sleep(earlyMs)
    return
  }
}
