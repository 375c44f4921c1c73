const digits = [0, 1, 2, 3].map(
  (count) => new Intl.NumberFormat('en-US', { minimumFractionDigits: count, maximumFractionDigits: count }),
)

/** Three digits that count, or all before the point: `12,345`, `123`, `12.3`, `1.23`, `0.123`; a dash for what was not measured. */
export function figureText(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–'
  const size = Math.abs(value)
  const count = size >= 99.95 || size === 0 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3
  return (digits[count] as Intl.NumberFormat).format(value)
}
