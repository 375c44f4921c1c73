// Memoization by object: a result is kept as long as its object lives.

/** Returns the function with a cache, so that it computes its result once for each object. */
export function memoize<Key extends object, Value extends object>(compute: (key: Key) => Value): (key: Key) => Value {
  const computed = new WeakMap<Key, Value>()
  return (key) => computed.getOrInsertComputed(key, compute)
}
