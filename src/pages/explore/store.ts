// State that components share: stores, which draw the page again.

/** A value that the page shows; setting it draws the page again. */
export class Store<T> {
  static redraw = () => {}

  constructor(public value: T) {}

  set(value: T): void {
    this.value = value
    Store.redraw()
  }
}
