/** How this machine lets a process have a `/dev/shm` of its own; null: in no way. */
const method = [
  ['unshare', '-m'],
  ['unshare', '-Urm'],
].find((words) => {
  const [program, ...options] = words as [string, ...string[]]
  return Bun.which(program) && Bun.spawnSync([program, ...options, ...mounting(1), 'true']).success
})

/** Whether `withMemory` works here. Docker does not allow it without `--cap-add SYS_ADMIN`. */
export const canHaveSmallMemory = method !== undefined

/** The command line of a program that finds a `/dev/shm` of so many MiB, which no other program sees. */
export function withMemory(mebibytes: number, command: readonly string[]): string[] {
  return [...(method ?? []), ...mounting(mebibytes), ...command]
}

function mounting(mebibytes: number): string[] {
  return ['sh', '-c', `mount -t tmpfs -o size=${mebibytes}m tmpfs /dev/shm && exec "$0" "$@"`]
}
