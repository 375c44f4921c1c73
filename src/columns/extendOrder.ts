import type { Collation } from './collation.ts'
import { sortTexts } from './sortTexts.ts'
import type { TextBounds } from './textBounds.ts'
import { orderOf, type TextOrder } from './textOrder.ts'
import { concat, PIECE_TEXTS_MAX, type Texts, takeAll, takePiece } from './textPieces.ts'

/** Texts that are looked for one by one, as operands are, where there are many. */
const EACH_MAX = 16
const MANY_MIN = 256
/** Texts that are put among ordered ones; more of them are ordered together with those. */
const FEW_MAX = 500

/**
 * The order of the texts there are, made from one that lacks those that came since. It asks few
 * statements at once, and holds the event loop up for some milliseconds at most. @throws ApiError 500, 503
 */
export async function extendOrder(
  order: TextOrder,
  texts: Texts,
  collation: Collation,
  bounds: TextBounds,
): Promise<TextOrder> {
  const added = codesBetween(order.ranks.length, texts.size)
  if (added.length <= EACH_MAX && order.codes.length >= MANY_MIN)
    return orderOf(await insertEach(order, added, texts, collation, bounds))
  const codes = await insert(order.codes, added, texts, collation)
  return orderOf(codes ?? (await sortTexts(concat([order.codes, added]), texts, collation)))
}

function codesBetween(first: number, end: number): Int32Array {
  const codes = new Int32Array(end - first)
  for (let index = 0; index < codes.length; index++) codes[index] = first + index
  return codes
}

/** Puts very few codes where bounds have them. */
async function insertEach(
  order: TextOrder,
  added: Int32Array,
  texts: Texts,
  collation: Collation,
  bounds: TextBounds,
): Promise<Int32Array> {
  const places = await Promise.all(Array.from(added, (code) => bounds.search(order, texts.text(code))))
  const byPlace = Map.groupBy(added, (_, index) => places[index] as number)
  const parts: Int32Array[] = []
  let from = 0
  for (const place of [...byPlace.keys()].sort((one, other) => one - other)) {
    const between = Int32Array.from(byPlace.get(place) as number[])
    parts.push(order.codes.subarray(from, place), await sortTexts(between, texts, collation))
    from = place
  }
  return concat([...parts, order.codes.subarray(from)])
}

/**
 * Puts a few codes among those that are in order: finds by thresholds between which each lies, and orders what lies there
 * with them. Null: that would be as much work as to order all.
 */
async function insert(
  codes: Int32Array,
  added: Int32Array,
  texts: Texts,
  collation: Collation,
): Promise<Int32Array | null> {
  const found = thresholdsAmong(codes, added.length, texts)
  if (!found) return null
  const { thresholds, step } = found
  const inserted = await placesOf(added, thresholds, texts, collation)
  const near: Int32Array[] = [added]
  for (const place of inserted.keys()) near.push(codes.subarray(place * step, (place + 1) * step))
  const sorted = await sortTexts(concat(near), texts, collation)
  const parts: Int32Array[] = []
  let at = 0
  for (let place = 0; place <= thresholds.length; place++) {
    const part = codes.subarray(place * step, (place + 1) * step)
    const count = inserted.get(place) ?? 0
    parts.push(count === 0 ? part : sorted.subarray(at, (at += part.length + count)))
  }
  return concat(parts)
}

/** Every `step`th of the texts, in one statement. Null: beside `count` texts lie so many that all may be ordered. */
function thresholdsAmong(
  codes: Int32Array,
  count: number,
  texts: Texts,
): { thresholds: string[]; step: number } | null {
  if (count > FEW_MAX) return null
  // There are as many thresholds then as texts beside those that are added.
  let step = Math.ceil(Math.max(1, Math.sqrt(codes.length / count), codes.length / PIECE_TEXTS_MAX))
  for (; 4 * step * count <= codes.length; step *= 2) {
    const thresholds = takeAll(everyNth(codes, step), texts)
    if (thresholds) return { thresholds, step }
  }
  return null
}

/** How many of the codes lie behind as many thresholds. */
async function placesOf(
  codes: Int32Array,
  thresholds: readonly string[],
  texts: Texts,
  collation: Collation,
): Promise<Map<number, number>> {
  const counts = new Map<number, number>()
  for (let from = 0; from < codes.length; ) {
    const places = await collation.places(takePiece(codes, from, texts), thresholds)
    for (const place of places) counts.set(place, (counts.get(place) ?? 0) + 1)
    from += places.length
  }
  return counts
}

/** Every nth of the codes, the first one of all not among them. */
function everyNth(codes: Int32Array, step: number): Int32Array {
  const every = new Int32Array(Math.max(0, Math.ceil(codes.length / step) - 1))
  for (let index = 0; index < every.length; index++) every[index] = codes[(index + 1) * step] as number
  return every
}
