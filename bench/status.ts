const CLEAR_LINE = '\r\u001b[K'

/** What is being done now, on a terminal; null: nothing any more. Elsewhere nothing is written. */
export function status(text: string | null): void {
  if (process.stderr.isTTY) process.stderr.write(CLEAR_LINE + (text ?? ''))
}
