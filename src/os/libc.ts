import { dlopen, type FFIFunction } from 'bun:ffi'

const NAME = process.platform === 'darwin' ? 'libSystem.B.dylib' : 'libc.so.6'

/** Functions of the C library. Opened at their first use: what needs none also runs where there is no glibc. */
export function libc<Functions extends Record<string, FFIFunction>>(functions: Functions) {
  let opened: ReturnType<typeof dlopen<Functions>>['symbols'] | undefined
  return () => (opened ??= dlopen(NAME, functions).symbols)
}
