// File descriptors: reserves some for the process itself, and pauses its listener when clients have taken all others.
import { closeSync, openSync, readFileSync } from 'node:fs'
import type { ListenSocket } from './listenSocket.ts'

const LOOK_MS = 250
/** Free descriptors at which clients are accepted again, so that one that leaves does not let one in at once. */
const CLIENTS_MIN = 8

/** Maximum of descriptors that this process may have open; infinite where the system does not say. */
export function descriptorsMax(): number {
  if (process.platform !== 'linux') return Number.POSITIVE_INFINITY
  const [, limit] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? []
  return limit === undefined ? Number.POSITIVE_INFINITY : Number(limit)
}

/**
 * Reserves `count` descriptors, so that clients are served when others have taken the rest. Then the reserve is freed, `onFull`
 * is called, and no client is accepted until there is room: the runtime would retry a listener that cannot accept with all of a
 * processor. Returns what ends it.
 */
export function keepDescriptors(count: number, listener: ListenSocket, onFull: () => void): () => void {
  if (process.platform !== 'linux') return () => undefined
  const held: number[] = []
  let isFull = false
  /** Opens and closes descriptors until `wanted` are held. False: there are too few. */
  function hold(wanted: number): boolean {
    try {
      while (held.length < wanted) held.push(openSync('/dev/null', 'r'))
    } catch {
      return false
    }
    for (const descriptor of held.splice(wanted)) closeSync(descriptor)
    return true
  }
  function look(): void {
    if (!isFull) {
      if (hold(count + 1) && hold(count)) return
      isFull = true
      listener.pause()
      hold(count - 1)
      onFull()
    }
    listener.dropWaiting()
    isFull = !hold(count + CLIENTS_MIN)
    hold(isFull ? 0 : count)
    if (!isFull) listener.acceptAgain()
  }
  hold(count)
  const timer = setInterval(look, LOOK_MS)
  timer.unref()
  return () => clearInterval(timer)
}
