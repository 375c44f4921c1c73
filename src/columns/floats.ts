const float = new Float64Array(1)
const bits = new BigInt64Array(float.buffer)
/** The low half of the bits, and the high one. */
const halves = new Uint32Array(float.buffer)

/** The next float below; the least has none. */
export function nextBelow(number: number): number {
  if (number === 0) return -Number.MIN_VALUE
  if (number === Number.NEGATIVE_INFINITY) return number
  float[0] = number
  const [low, high] = [halves[0] as number, halves[1] as number]
  if (number > 0) {
    halves[0] = low - 1
    if (low === 0) halves[1] = high - 1
  } else {
    halves[0] = low + 1
    if (halves[0] === 0) halves[1] = high + 1
  }
  return float[0]
}

/** The next float above; the greatest has none. */
export function nextAbove(number: number): number {
  return -nextBelow(-number)
}

/** Its bits as a number in the order of floats, as in kernel.wat. */
export function ordinalOf(number: number): bigint {
  float[0] = number
  const own = bits[0] as bigint
  return own < 0n ? own ^ 0x7fff_ffff_ffff_ffffn : own
}

/** The float of an ordinal. */
export function floatOf(ordinal: bigint): number {
  bits[0] = ordinal < 0n ? ordinal ^ 0x7fff_ffff_ffff_ffffn : ordinal
  return float[0] as number
}
