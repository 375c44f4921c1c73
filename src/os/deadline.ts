/**
 * Settles as `promise` does; after `afterMs` with what `onMiss` returns, or throws. What was begun goes on.
 * For a few promises: each has a timer of its own.
 */
export function withDeadline<T>(promise: Promise<T>, afterMs: number, onMiss: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    const miss = () => {
      try {
        resolve(onMiss())
      } catch (error) {
        reject(error)
      }
    }
    const timer = setTimeout(miss, afterMs)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
