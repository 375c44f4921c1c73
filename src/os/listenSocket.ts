import { ptr } from 'bun:ffi'
import { readdirSync } from 'node:fs'
import { libc } from './libc.ts'

const [SOL_SOCKET, SO_ATTACH_FILTER, SO_ACCEPTCONN] = [1, 26, 30]

const sockets = libc({
  getsockname: { args: ['i32', 'ptr', 'ptr'], returns: 'i32' },
  getsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'ptr'], returns: 'i32' },
  setsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'u32'], returns: 'i32' },
})

// A classic packet filter (four words each: code, jumps, operand) that drops the packets with which connections begin.
const DROP_BEGINNINGS = new Uint16Array([
  ...[0x30, 0, 13, 0], // the byte of the TCP header that holds its flags
  ...[0x54, 0, 0x12, 0], // SYN and ACK of them
  ...[0x15, 0x0100, 0x02, 0], // SYN alone: go on; else leave out one
  ...[0x06, 0, 0, 0], // drop
  ...[0x06, 0, 0xffff, 0xffff], // take
])

/**
 * Drops packets that begin a connection to this process's listener on `port`. Connections that have begun go on; the
 * clients of others try again within a second or two, when the listener is closed and another one of the port answers.
 * A listener that is simply closed cuts connections that it has not accepted yet. Linux only; elsewhere, and where the
 * filter is not allowed, nothing happens.
 */
export function stopAccepting(port: number): void {
  if (process.platform !== 'linux') return
  const program = new BigUint64Array(new ArrayBuffer(16))
  program[0] = BigInt(DROP_BEGINNINGS.length / 4)
  program[1] = BigInt(ptr(DROP_BEGINNINGS))
  for (const descriptor of listenersOn(port))
    sockets().setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, ptr(program), program.byteLength)
}

function listenersOn(port: number): number[] {
  return readdirSync('/proc/self/fd')
    .map(Number)
    .filter((descriptor) => isListener(descriptor) && portOf(descriptor) === port)
}

function isListener(descriptor: number): boolean {
  const value = new Int32Array(new ArrayBuffer(8))
  value[1] = 4
  sockets().getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, ptr(value), ptr(value, 4))
  return value[0] === 1
}

function portOf(descriptor: number): number {
  const address = new Uint8Array(new ArrayBuffer(128))
  const length = new Int32Array(new ArrayBuffer(4))
  length[0] = address.length
  if (sockets().getsockname(descriptor, ptr(address), ptr(length)) !== 0) return 0
  // Family, then the port in network order, for IPv4 as for IPv6.
  return ((address[2] as number) << 8) | (address[3] as number)
}
