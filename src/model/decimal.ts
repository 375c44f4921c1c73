/** Longer numbers are refused, wherever they come from. */
export const DIGITS_MAX = 200

/** A number's source without exponent, leading and trailing zeros (`1.50e2` → `150`); null beyond 200 digits. */
export function plainDecimal(source: string): string | null {
  // Also what keeps the search for trailing zeros from taking the square of a body's length.
  if (source.length > 2 * DIGITS_MAX) return null
  const [mantissa = '', exponent = '0'] = source.toLowerCase().split('e')
  const negative = mantissa.startsWith('-')
  const [whole = '', fraction = ''] = mantissa.slice(negative ? 1 : 0).split('.')
  const digits = (whole + fraction).replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  if (significant === '') return '0'
  const shift = Number(exponent) - fraction.length + (digits.length - significant.length)
  if (Math.abs(shift) > DIGITS_MAX || significant.length > DIGITS_MAX) return null
  const sign = negative ? '-' : ''
  if (shift >= 0) return sign + significant + '0'.repeat(shift)
  const padded = significant.padStart(1 - shift, '0')
  return `${sign}${padded.slice(0, shift)}.${padded.slice(shift)}`
}

/** Decimals with the zeros of their column's scale; finer ones, without zeros at the end, too. NaN is above all. */
export function compareDecimals(one: string, other: string): number {
  if (one === 'NaN' || other === 'NaN') return Number(one === 'NaN') - Number(other === 'NaN')
  const isNegative = one.startsWith('-')
  if (isNegative !== other.startsWith('-')) return isNegative ? -1 : 1
  return isNegative ? compareDigits(other, one) : compareDigits(one, other)
}

/** Decimals of the same sign, by their distance from 0. */
function compareDigits(one: string, other: string): number {
  return wholeLength(one) - wholeLength(other) || (one < other ? -1 : Number(one > other))
}

function wholeLength(text: string): number {
  const point = text.indexOf('.')
  return point === -1 ? text.length : point
}

/** A decimal without an exponent and needless zeros, as a column of this scale prints it; all of a finer one is kept. */
export function printDecimal(plain: string, scale: number): string {
  const [whole = '', fraction = ''] = plain.split('.')
  const printed = fraction.padEnd(scale, '0')
  return printed === '' ? whole : `${whole}.${printed}`
}
