// Decimals as text: normalizes, compares and prints them exactly, without floating point.

/** Maximum digits of a number; longer numbers are refused everywhere. */
export const DIGITS_MAX = 200
/** Maximum digits before a decimal's point. */
export const DECIMAL_DIGITS = 10

/** Writes a number without exponent and without leading or trailing zeros (`1.50e2` → `150`); null beyond 200 digits. */
export function plainDecimal(source: string): string | null {
  // This bound also limits the search for trailing zeros, which takes quadratic time.
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

/** Compares decimals without exponents. NaN is greater than every number. */
export function compareDecimals(one: string, other: string): number {
  if (one === 'NaN' || other === 'NaN') return Number(one === 'NaN') - Number(other === 'NaN')
  // Rounding to floats keeps the order, so only decimals with equal floats are compared by all their digits.
  const difference = Number(one) - Number(other)
  if (difference !== 0) return Math.sign(difference)
  const scale = Math.max(...[one, other].map((text) => text.split('.')[1]?.length ?? 0))
  const [first, second] = [one, other].map((text) => BigInt(printDecimal(text, scale).replace('.', ''))) as [bigint, bigint]
  return first < second ? -1 : Number(first > second)
}

/**
 * Prints a decimal with at least `scale` digits after the point, as its column does. A decimal with more digits keeps all of
 * them.
 */
export function printDecimal(plain: string, scale: number): string {
  const [whole = '', fraction = ''] = plain.split('.')
  const printed = fraction.padEnd(scale, '0')
  return printed === '' ? whole : `${whole}.${printed}`
}
