import { dlopen, type FFIFunction } from 'bun:ffi'

const NAME = process.platform === 'darwin' ? 'libSystem.B.dylib' : 'libc.so.6'

/** Functions of the C library, opened at their first use: programs that use none also run where there is no glibc. */
export function libc<Functions extends Record<string, FFIFunction>>(functions: Functions) {
  let opened: ReturnType<typeof dlopen<Functions>>['symbols'] | undefined
  return () => (opened ??= dlopen(NAME, functions).symbols)
}
