// Tells which values are nearly equal: people type the same number or name in several ways. Runs in browsers, too.
import { foldText } from '../model/fold.ts'

const LEADING_ZEROS = /(?<!\p{Number})0+(?=\p{Number})/gu
/** Matches blanks, also invisible ones. */
const BLANKS = /[\s\u200b\ufeff]+/g

/** Returns a text that is the same for values which differ only in case, blanks, leading zeros and accents. */
export function nearKey(value: string): string {
  return foldText(value.normalize('NFKC')).replace(BLANKS, '').replace(LEADING_ZEROS, '')
}
