import { GROUPS_MAX } from '../model/summary.ts'

/** There are more groups than a summary may have. */
export class TooManyGroups extends Error {}

const float = new Float64Array(1)
const halves = new Int32Array(float.buffer)

/** Numbers for floats that are not NaN, from 0 in the order in which they came. */
export class Interned {
  static readonly SIZE_MAX = GROUPS_MAX
  size = 0
  private values = new Float64Array(1 << 8)
  /** One more than the number of the value that lies there; 0: none. At most half of them are in use. */
  private slots = new Int32Array(1 << 9)

  /** @throws TooManyGroups */
  numberOf(value: number): number {
    const mask = this.slots.length - 1
    for (let slot = hashOf(value) & mask; ; slot = (slot + 1) & mask) {
      const known = this.slots[slot] as number
      if (known === 0) return this.add(value, slot)
      if (this.values[known - 1] === value) return known - 1
    }
  }

  /** The value of a number. */
  valueOf(number: number): number {
    return this.values[number] as number
  }

  private add(value: number, slot: number): number {
    if (this.size === Interned.SIZE_MAX) throw new TooManyGroups()
    const number = this.size++
    this.values[number] = value
    this.slots[slot] = this.size
    if (this.size === this.values.length) this.widen()
    return number
  }

  private widen() {
    const values = new Float64Array(2 * this.values.length)
    values.set(this.values)
    this.values = values
    this.slots = new Int32Array(2 * this.slots.length)
    const mask = this.slots.length - 1
    for (let number = 0; number < this.size; number++) {
      let slot = hashOf(this.valueOf(number)) & mask
      while (this.slots[slot] !== 0) slot = (slot + 1) & mask
      this.slots[slot] = number + 1
    }
  }
}

function hashOf(value: number): number {
  float[0] = value
  const mixed = Math.imul((halves[0] as number) ^ Math.imul(halves[1] as number, 0x9e3779b1), 0x85ebca6b)
  return mixed ^ (mixed >>> 15)
}
