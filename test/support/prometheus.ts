/** Whether the machine has a `prometheus` and its `promtool`. */
export const hasPrometheus = Bun.which('prometheus') !== null && Bun.which('promtool') !== null

/** What `promtool` says of a text, given as its input or in a file; '' where it finds no fault. */
export function promtool(words: readonly string[], input = ''): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(['promtool', ...words], { stdin: Buffer.from(input) })
  return exitCode === 0 && stderr.length === 0 ? '' : `${stdout}${stderr}` || `exit code ${exitCode}`
}
