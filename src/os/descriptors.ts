// File descriptors: reserves some for the process itself, and pauses its listener when clients have taken all other descriptors.
import { closeSync, openSync, readFileSync } from 'node:fs'
import type { ListenSocket } from './listenSocket.ts'

const CHECK_MS = 250
/**
 * Number of descriptors that must be free before clients are accepted again. With a smaller number, the listener would stop and
 * start with each client that leaves.
 */
const CLIENTS_MIN = 8

/** Returns the maximum number of open descriptors of this process; infinity if the system does not tell. */
export function descriptorsMax(): number {
  if (process.platform !== 'linux') return Number.POSITIVE_INFINITY
  const [, limit] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? []
  return limit === undefined ? Number.POSITIVE_INFINITY : Number(limit)
}

/**
 * Reserves `count` descriptors for serving connected clients. When clients have taken all other descriptors, frees the reserve,
 * calls `onFull`, and pauses the listener until descriptors are free again. Without the pause, the runtime would retry failed
 * accepts in a busy loop. Returns a function that ends these checks.
 */
export function keepDescriptors(count: number, listener: ListenSocket, onFull: () => void): () => void {
  if (process.platform !== 'linux') return () => undefined
  const held: number[] = []
  let isFull = false
  /** Opens or closes descriptors until `wanted` are held. Returns false if not enough descriptors are free. */
  function hold(wanted: number): boolean {
    try {
      while (held.length < wanted) held.push(openSync('/dev/null', 'r'))
    } catch {
      return false
    }
    for (const descriptor of held.splice(wanted)) closeSync(descriptor)
    return true
  }
  function check(): void {
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
  const timer = setInterval(check, CHECK_MS)
  timer.unref()
  return () => clearInterval(timer)
}
