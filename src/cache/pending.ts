/** Work that is being done, so that those who need the same meanwhile wait for it. */
export class Pending<T> {
  private readonly promises = new Map<string, Promise<T>>()

  get(key: string): Promise<T> | undefined {
    return this.promises.get(key)
  }

  /** Returns the promise, which is found under `key` until it is settled. */
  start<Of extends T>(key: string, promise: Promise<Of>): Promise<Of> {
    this.promises.set(key, promise)
    const forget = () => void (this.promises.get(key) === promise && this.promises.delete(key))
    promise.then(forget, forget)
    return promise
  }
}
