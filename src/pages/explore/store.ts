import { useEffect, useState } from 'preact/hooks'

/** A value that several components show; they are drawn again when it changes. */
export class Store<T> {
  private readonly watchers = new Set<() => void>()

  constructor(public value: T) {}

  set(value: T): void {
    this.value = value
    for (const draw of [...this.watchers]) draw()
  }

  /** Hook: the value now, and each later one. */
  use(): T {
    const [, count] = useState(0)
    useEffect(() => {
      const draw = () => count((drawn) => drawn + 1)
      this.watchers.add(draw)
      return () => void this.watchers.delete(draw)
    }, [])
    return this.value
  }
}
