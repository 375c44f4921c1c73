import { closeSync, openSync, readFileSync } from 'node:fs'
import type { ListenSocket } from './listenSocket.ts'

const LOOK_MS = 50
/** Where there is room for all clients that can come until then, it is looked ever less often: at rest that costs nothing. */
const REST_MS = 1_000
const CLIENTS_PER_MS = 10
/** Whether there is room again is looked at less often: each look opens and closes as many as are kept. */
const LOOKS_FULL = 10
/** Room for so many clients, so that one that leaves does not end the shedding for one that comes. */
const CLIENTS_MIN = 8

/** How many descriptors this process may have open; infinite where the system does not say. */
export function descriptorsMax(): number {
  if (process.platform !== 'linux') return Number.POSITIVE_INFINITY
  const [, limit] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? []
  return limit === undefined ? Number.POSITIVE_INFINITY : Number(limit)
}

/**
 * Keeps `count` descriptors for what the process itself has to open. When clients have taken all others, they are freed,
 * and no client is accepted until there is room again: a listener that cannot accept who waits would be tried for ever, with
 * all of a processor. `onFull` is called then. Returns what ends it.
 */
export function keepDescriptors(count: number, listener: ListenSocket, onFull: () => void): () => void {
  if (process.platform !== 'linux') return () => undefined
  const kept = new Kept()
  kept.fill(count)
  const max = descriptorsMax()
  let looks = 0
  let isFull = false
  let timer: ReturnType<typeof setTimeout>
  const again = (ms: number) => {
    timer = setTimeout(look, ms)
    timer.unref()
  }
  function look(): void {
    const free = isFull ? null : lowestFree()
    again(free === null ? LOOK_MS : Math.min(REST_MS, Math.max(LOOK_MS, (max - free) / CLIENTS_PER_MS)))
    if (isFull) lookForRoom()
    else if (free === null) shed()
  }
  function shed(): void {
    isFull = true
    looks = 0
    listener.pause()
    kept.freeOne()
    listener.dropWaiting()
    kept.free()
    onFull()
  }
  function lookForRoom(): void {
    listener.dropWaiting()
    if (++looks % LOOKS_FULL !== 0) return
    isFull = !kept.fill(count + CLIENTS_MIN)
    if (isFull) kept.free()
    else {
      kept.fill(count)
      listener.acceptAgain()
    }
  }
  look()
  return () => clearTimeout(timer)
}

/** Descriptors that are held so that no client gets them. */
class Kept {
  private readonly held: number[] = []

  /** Holds so many. False: there are not as many. */
  fill(count: number): boolean {
    try {
      while (this.held.length < count) this.held.push(openSync('/dev/null', 'r'))
    } catch {
      return false
    }
    while (this.held.length > count) this.freeOne()
    return true
  }

  freeOne(): void {
    const descriptor = this.held.pop()
    if (descriptor !== undefined) closeSync(descriptor)
  }

  free(): void {
    while (this.held.length > 0) this.freeOne()
  }
}

/** The number that the next descriptor would have, about as many as are in use; null: there is none. */
function lowestFree(): number | null {
  try {
    const descriptor = openSync('/dev/null', 'r')
    closeSync(descriptor)
    return descriptor
  } catch {
    return null
  }
}
