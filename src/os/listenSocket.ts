// The listening socket of this process, controlled by system calls that the runtime lacks. Linux only; elsewhere it does nothing.
import { ptr } from 'bun:ffi'
import { closeSync, readdirSync } from 'node:fs'
import { libc } from './libc.ts'

const SOL_SOCKET = 1
const SO_ATTACH_FILTER = 26
const SO_DETACH_FILTER = 27
const SO_ACCEPTCONN = 30
const SO_BINDTOIFINDEX = 62
/** Index of a network interface that no machine has. */
const NO_INTERFACE = words(0x7fffffff)
/** A packet filter of one instruction (code, jumps, operand) that drops every packet. */
const DROP = words(0x06, 0)
/** Maximum number of connections that are dropped at once: more than the kernel queues for a listener. */
const QUEUED_MAX = 10_000

const sockets = libc({
  accept: { args: ['i32', 'ptr', 'ptr'], returns: 'i32' },
  getsockname: { args: ['i32', 'ptr', 'ptr'], returns: 'i32' },
  getsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'ptr'], returns: 'i32' },
  setsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'u32'], returns: 'i32' },
})

/**
 * Controls whether the kernel gives new connections to this process: not while the process is being replaced, or has no
 * descriptors left.
 */
export class ListenSocket {
  private readonly descriptors: readonly number[]

  /** Finds the listener at once, because `/proc` cannot be read later when all descriptors are in use. */
  constructor(port: number) {
    const all = process.platform === 'linux' ? readdirSync('/proc/self/fd').map(Number) : []
    this.descriptors = all.filter((descriptor) => isListener(descriptor) && portOf(descriptor) === port)
  }

  /**
   * Refuses new connections, but lets started handshakes finish; closing the listener would reset them. While other processes
   * share the port, the kernel drops handshakes that it assigns to this listener, and clients retry within a second or two.
   */
  stopAccepting(): void {
    this.set(SO_BINDTOIFINDEX, NO_INTERFACE)
  }

  /**
   * Drops all packets of connections that are not accepted yet. Clients repeat the packets, so they connect after `acceptAgain`.
   */
  pause(): void {
    const program = new BigUint64Array(new ArrayBuffer(16))
    program.set([1n, BigInt(ptr(DROP))])
    this.set(SO_ATTACH_FILTER, program)
  }

  acceptAgain(): void {
    this.set(SO_DETACH_FILTER, words(0))
  }

  /** Closes connections that wait to be accepted; needs one free descriptor. */
  dropWaiting(): void {
    for (const descriptor of this.descriptors)
      for (let dropped = 0; dropped < QUEUED_MAX; dropped++) {
        const connection = sockets().accept(descriptor, null, null)
        if (connection < 0) break
        closeSync(connection)
      }
  }

  private set(option: number, value: Int32Array | BigUint64Array): void {
    for (const descriptor of this.descriptors) sockets().setsockopt(descriptor, SOL_SOCKET, option, ptr(value), value.byteLength)
  }
}

function isListener(descriptor: number): boolean {
  const value = words(0)
  const length = words(4)
  sockets().getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, ptr(value), ptr(length))
  return value[0] === 1
}

function portOf(descriptor: number): number {
  const address = new DataView(new ArrayBuffer(128))
  const length = words(128)
  sockets().getsockname(descriptor, ptr(address), ptr(length))
  return address.getUint16(2) // the port comes after the address family, in network byte order, for IPv4 and IPv6
}

/**
 * Returns words in an ArrayBuffer of their own: the JIT moves small typed arrays, and a pointer to such an array would dangle.
 */
function words(...values: number[]): Int32Array {
  const array = new Int32Array(new ArrayBuffer(4 * values.length))
  array.set(values)
  return array
}
