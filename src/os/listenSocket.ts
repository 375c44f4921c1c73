// The listening socket of this process, by system calls that the runtime does not offer. Linux only; elsewhere it does nothing.
import { ptr } from 'bun:ffi'
import { closeSync, readdirSync } from 'node:fs'
import { libc } from './libc.ts'

const [SOL_SOCKET, SO_ATTACH_FILTER, SO_DETACH_FILTER, SO_ACCEPTCONN, SO_BINDTOIFINDEX] = [1, 26, 27, 30, 62]
/** The number of a network interface that no machine has. */
const NO_INTERFACE = words(0x7fffffff)
/** A packet filter of one instruction (code, jumps, operand): keep no byte. */
const DROP = words(0x06, 0)
/** More connections than the kernel queues at one listener. */
const QUEUED_MAX = 10_000

const sockets = libc({
  accept: { args: ['i32', 'ptr', 'ptr'], returns: 'i32' },
  getsockname: { args: ['i32', 'ptr', 'ptr'], returns: 'i32' },
  getsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'ptr'], returns: 'i32' },
  setsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'u32'], returns: 'i32' },
})

/** Lets workers be replaced without a failed request, and clients be served when others have taken all descriptors. */
export class ListenSocket {
  private readonly descriptors: readonly number[]

  /** Finds the listener now, since no folder can be read while all descriptors are in use, `/proc` neither. */
  constructor(port: number) {
    const all = process.platform === 'linux' ? readdirSync('/proc/self/fd').map(Number) : []
    this.descriptors = all.filter((descriptor) => isListener(descriptor) && portOf(descriptor) === port)
  }

  /**
   * Refuses new connections. Those whose handshake has begun go on: a listener that is closed resets them. While other
   * processes share the port, the kernel drops a handshake that it assigns to this listener, and the client tries again within
   * a second or two.
   */
  stopAccepting(): void {
    this.set(SO_BINDTOIFINDEX, NO_INTERFACE)
  }

  /** Drops all packets of connections that are not accepted yet; their clients send again, until `acceptAgain`. */
  pause(): void {
    const program = new BigUint64Array(new ArrayBuffer(16))
    program.set([1n, BigInt(ptr(DROP))])
    this.set(SO_ATTACH_FILTER, program)
  }

  acceptAgain(): void {
    this.set(SO_DETACH_FILTER, words(0))
  }

  /** Closes connections that wait to be accepted; takes one free descriptor. */
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
  const [value, length] = [words(0), words(4)]
  sockets().getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, ptr(value), ptr(length))
  return value[0] === 1
}

function portOf(descriptor: number): number {
  const [address, length] = [new DataView(new ArrayBuffer(128)), words(128)]
  sockets().getsockname(descriptor, ptr(address), ptr(length))
  return address.getUint16(2) // behind the family, in network order, for IPv4 as for IPv6
}

/** Words over an ArrayBuffer of their own: the JIT moves a small typed array, and a pointer to it would dangle. */
function words(...values: number[]): Int32Array {
  const array = new Int32Array(new ArrayBuffer(4 * values.length))
  array.set(values)
  return array
}
