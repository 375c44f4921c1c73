// Decimals as text: normalizes, compares and prints them exactly, without floating point.

/** Longer numbers are refused, wherever they come from. */
export const DIGITS_MAX = 200
/** Digits of a decimal before the point. */
export const DECIMAL_DIGITS = 10

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

/** Compares decimals without exponents; NaN is above all. */
export function compareDecimals(one: string, other: string): number {
  if (one === 'NaN' || other === 'NaN') return Number(one === 'NaN') - Number(other === 'NaN')
  const scale = Math.max(...[one, other].map((text) => text.split('.')[1]?.length ?? 0))
  const [first, second] = [one, other].map((text) => BigInt(printDecimal(text, scale).replace('.', ''))) as [bigint, bigint]
  return first < second ? -1 : Number(first > second)
}

/** A decimal without an exponent and needless zeros, as a column of this scale prints it; all of a finer one is kept. */
export function printDecimal(plain: string, scale: number): string {
  const [whole = '', fraction = ''] = plain.split('.')
  const printed = fraction.padEnd(scale, '0')
  return printed === '' ? whole : `${whole}.${printed}`
}
