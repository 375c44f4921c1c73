// State that components share.

/** A value that components show; setting it renders the page again. */
export class Store<T> {
  static redraw = () => {}

  constructor(public value: T) {}

  set(value: T): void {
    this.value = value
    Store.redraw()
  }
}
