// Divides rows or values into the parts of several requests.

/**
 * Divides items into parts that are limited in number and bytes; an item that is too large becomes a separate part. A repeated
 * import makes the same parts, and so sends the same Idempotency-Keys.
 */
export async function* divided<Item>(
  items: AsyncIterable<Item> | Iterable<Item>,
  most: number,
  bytesMax: number,
  bytesOf: (item: Item) => number,
): AsyncGenerator<Item[]> {
  let part: Item[] = []
  let sum = 0
  for await (const item of items) {
    const bytes = bytesOf(item)
    if (part.length === most || (part.length > 0 && sum + bytes > bytesMax)) {
      yield part
      part = []
      sum = 0
    }
    part.push(item)
    sum += bytes
  }
  if (part.length > 0) yield part
}
