import { type Kernel, SEGMENT_ROWS } from './kernel.ts'
import { NO_CODE, type Segment } from './segment.ts'

const codes = new Float64Array(SEGMENT_ROWS)
const allRows = Int32Array.from({ length: SEGMENT_ROWS }, (_, row) => row)
const someRows = new Int32Array(SEGMENT_ROWS)

/** The numbers of the `total` rows of a segment whose bits are set; they hold until the next call. */
export function rowsOf({ words }: Kernel, segment: Segment, bits: number, total: number): Int32Array {
  if (total === segment.rows) return allRows
  let count = 0
  const base = bits >> 2
  for (let at = 0; at << 5 < segment.rows; at++)
    for (let word = words[base + at] as number; word !== 0; word &= word - 1)
      someRows[count++] = (at << 5) + 31 - Math.clz32(word & -word)
  return someRows
}

/** The codes of `rows[0, count)` of a column that has no texts, NaN for none; they hold until the next call. */
export function codesOf(kernel: Kernel, segment: Segment, column: number, rows: Int32Array, count: number): Float64Array {
  const address = segment.addresses[column] as number
  if (segment.isWide[column]) readWide(kernel.floats, address >> 3, rows, count)
  else readNarrow(kernel.words, address >> 2, rows, count)
  return codes
}

// A loop over arrays of two types would be several times slower.
function readWide(floats: Float64Array, base: number, rows: Int32Array, count: number) {
  for (let at = 0; at < count; at++) codes[at] = floats[base + (rows[at] as number)] as number
}

function readNarrow(words: Int32Array, base: number, rows: Int32Array, count: number) {
  for (let at = 0; at < count; at++) {
    const code = words[base + (rows[at] as number)] as number
    codes[at] = code === NO_CODE ? Number.NaN : code
  }
}
