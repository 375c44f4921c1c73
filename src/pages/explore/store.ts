// State that components share: stores, which draw the page again.
import { useEffect, useReducer } from 'preact/hooks'

let redraw = () => {}

/** A value that the page shows; setting it draws the page again. */
export class Store<T> {
  constructor(public value: T) {}

  set(value: T): void {
    this.value = value
    redraw()
  }
}

/** Hook of the component that shows the stores: draws it again when one of them is set. */
export function useStores(): void {
  const [, draw] = useReducer<number, void>((drawn) => drawn + 1, 0)
  useEffect(() => {
    redraw = draw
  }, [])
}
