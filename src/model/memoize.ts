// Memoization by object: a result is kept as long as its object.

/** Returns the function, which then computes once for each object. */
export function memoize<Key extends object, Value extends object>(compute: (key: Key) => Value): (key: Key) => Value {
  const computed = new WeakMap<Key, Value>()
  return (key) => computed.getOrInsertComputed(key, compute)
}
