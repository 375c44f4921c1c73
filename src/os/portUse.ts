import { readFileSync } from 'node:fs'

// A state of the kernel's tables. Linux, include/net/tcp_states.h
const TIME_WAIT = '06'

/**
 * Whether connections that have ended are all that uses a TCP port of this machine: the kernel keeps it for a minute
 * after them. False also where the kernel has no such tables; Linux has.
 */
export function isInTimeWait(port: number): boolean {
  const states = ['tcp', 'tcp6'].flatMap((table) => statesOf(table, port))
  return states.length > 0 && states.every((state) => state === TIME_WAIT)
}

/** The states of the sockets whose own port it is. */
function statesOf(table: string, port: number): string[] {
  const ending = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return readTable(table)
    .split('\n')
    .map((line) => line.trim().split(/ +/))
    .filter(([, own]) => own?.endsWith(ending))
    .map(([, , , state = '']) => state)
}

function readTable(name: string): string {
  try {
    return readFileSync(`/proc/net/${name}`, 'utf8')
  } catch {
    return ''
  }
}
