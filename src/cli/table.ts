/** Aligned columns; each line ends with a line feed. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => Bun.stringWidth(row[column] ?? ''))))
  const lineOf = (row: readonly string[]) =>
    row
      .map((cell, column) => pad(cell, widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  return rows.map((row) => `${lineOf(row)}\n`).join('')
}

/** By the columns of a terminal, of which some letters take two. */
function pad(text: string, width: number): string {
  return text + ' '.repeat(width - Bun.stringWidth(text))
}
