/** The texts of statements by their shape; the least recently used goes first, so clients cannot fill the memory. */
export class ShapeCache {
  private readonly texts = new Map<string, string>()

  constructor(private readonly sizeMax: number) {}

  get(shape: string, make: () => string): string {
    let text = this.texts.get(shape)
    // A Map keeps the order of insertion: taken out and put in again, a shape is the most recent.
    if (text !== undefined) this.texts.delete(shape)
    else {
      text = make()
      if (this.texts.size >= this.sizeMax) this.texts.delete(this.texts.keys().next().value as string)
    }
    this.texts.set(shape, text)
    return text
  }
}
