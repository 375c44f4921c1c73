/** Some milliseconds are hardly felt by others. */
const TURN_MS = 3

/**
 * Lets other work of the process have its turn within a long one: between two of its steps it calls this, and waits for the
 * promise where there is one.
 */
export function takeTurns(turnMs = TURN_MS): () => Promise<void> | null {
  let untilMs = performance.now() + turnMs
  return () => {
    if (performance.now() < untilMs) return null
    return new Promise((resolve) =>
      setImmediate(() => {
        untilMs = performance.now() + turnMs
        resolve()
      }),
    )
  }
}
