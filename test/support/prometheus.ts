/** True if the machine has `prometheus` and its `promtool`. */
export const hasPrometheus = Bun.which('prometheus') !== null && Bun.which('promtool') !== null

/** Returns promtool's complaints about a text, given as input or in a file; '' if there are none. */
export function promtool(words: readonly string[], input = ''): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(['promtool', ...words], { stdin: Buffer.from(input) })
  return exitCode === 0 && stderr.length === 0 ? '' : `${stdout}${stderr}` || `exit code ${exitCode}`
}
