/** Command that gives a process its own mounts on this machine; undefined if there is none. */
const method = [
  ['unshare', '-m'],
  ['unshare', '-Urm'],
].find((words) => {
  const [program, ...options] = words as [string, ...string[]]
  return Bun.which(program) && Bun.spawnSync([program, ...options, ...mounting('/dev/shm', 1), 'true']).success
})

/** True if `withDisk` works here. Docker does not allow it without `--cap-add SYS_ADMIN`. */
export const canHaveSmallDisk = method !== undefined

/**
 * Returns the command line of a program that sees an empty disk of `mebibytes` at `folder`. The disk is in memory, and no other
 * program sees it.
 */
export function withDisk(folder: string, mebibytes: number, command: readonly string[]): string[] {
  return [...(method ?? []), ...mounting(folder, mebibytes), ...command]
}

function mounting(folder: string, mebibytes: number): string[] {
  return ['sh', '-c', `mount -t tmpfs -o size=${mebibytes}m tmpfs '${folder}' && exec "$0" "$@"`]
}
