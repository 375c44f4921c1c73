import { ptr } from 'bun:ffi'
import { closeSync, openSync, readdirSync } from 'node:fs'
import { libc } from './libc.ts'

const [SOL_SOCKET, SO_ATTACH_FILTER, SO_DETACH_FILTER, SO_ACCEPTCONN] = [1, 26, 27, 30]
/** More than wait at one listener. */
const WAITING_MAX = 10_000

const sockets = libc({
  dup2: { args: ['i32', 'i32'], returns: 'i32' },
  accept: { args: ['i32', 'ptr', 'ptr'], returns: 'i32' },
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

const DROP_ALL = new Uint16Array([0x06, 0, 0, 0])

/** This process's listener on a port. Linux only; elsewhere nothing happens. */
export class ListenSocket {
  private readonly descriptors: readonly number[]

  /** Found now, since where all descriptors are in use no folder can be read, `/proc` neither. */
  constructor(port: number) {
    this.descriptors = process.platform === 'linux' ? listenersOn(port) : []
  }

  /**
   * Drops packets that begin a connection. Connections that have begun go on; the clients of others try again within a
   * second or two, when the listener is closed and another one of the port answers. A listener that is simply closed cuts
   * connections that it has not accepted yet. False where nothing happens, since the kernel does not allow the filter: some allow
   * it to root alone.
   */
  stopAccepting(): boolean {
    return this.descriptors.map((descriptor) => attach(descriptor, DROP_BEGINNINGS)).every(Boolean)
  }

  /** Closes the listener alone: connections that were accepted go on, those that wait are reset, and others are refused. */
  close(): void {
    for (const descriptor of this.descriptors) closeUnder(descriptor)
  }

  /**
   * Drops all packets of connections that are not accepted yet, also of those that have begun: the kernel gives a client
   * to the listener only with its first bytes (TCP_DEFER_ACCEPT). Their clients send again, until `acceptAgain`.
   */
  pause(): void {
    for (const descriptor of this.descriptors) attach(descriptor, DROP_ALL)
  }

  /** Ends a pause. */
  acceptAgain(): void {
    const none = new Int32Array(2)
    for (const descriptor of this.descriptors)
      sockets().setsockopt(descriptor, SOL_SOCKET, SO_DETACH_FILTER, ptr(none), none.byteLength)
  }

  /** Closes connections that have begun and are not accepted yet; takes one free descriptor. */
  dropWaiting(): void {
    for (const descriptor of this.descriptors)
      for (let dropped = 0; dropped < WAITING_MAX; dropped++) {
        const connection = sockets().accept(descriptor, null, null)
        if (connection < 0) break
        closeSync(connection)
      }
  }
}

/** False where the kernel does not allow it. */
function attach(descriptor: number, instructions: Uint16Array): boolean {
  const program = new BigUint64Array(new ArrayBuffer(16))
  program[0] = BigInt(instructions.length / 4)
  program[1] = BigInt(ptr(instructions))
  return sockets().setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, ptr(program), program.byteLength) === 0
}

/** Closes a socket and leaves in its place a file that does nothing, so that its owner can close it once more. */
function closeUnder(descriptor: number): void {
  let nothing: number
  try {
    nothing = openSync('/dev/null', 'r')
  } catch {
    return // no descriptor is left
  }
  sockets().dup2(nothing, descriptor)
  closeSync(nothing)
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
