// Memoization by object: a result is kept as long as its object.

/** Returns the function, which then computes once for each object. */
export function memoize<Key extends object, Value extends object>(compute: (key: Key) => Value): (key: Key) => Value {
  const computed = new WeakMap<Key, Value>()
  return (key) => {
    let value = computed.get(key)
    if (value === undefined) computed.set(key, (value = compute(key)))
    return value
  }
}
