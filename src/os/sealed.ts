import { closeSync } from 'node:fs'
import { libc } from './libc.ts'
import { availableMemory, MEMORY_SHARE, noRoom, openRegion, type Region, RegionFile, writeRegion } from './region.ts'

const [MFD_CLOEXEC, MFD_ALLOW_SEALING, MFD_NOEXEC_SEAL] = [1, 2, 8]
const [F_ADD_SEALS, F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW] = [1033, 1, 2, 4]

const memory = libc({
  memfd_create: { args: ['ptr', 'u32'], returns: 'i32' },
  fcntl: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
})

/** A region that ends with the process that has made it, and the others that map it. */
export interface SealedRegion {
  readonly region: Region
  /** For `openRegion` in other processes, while this one lives. */
  readonly path: string
  close(): void
}

/**
 * Makes a region that no process can make shorter, so that none that maps it can die of that (SIGBUS): memory without a name,
 * sealed (memfd_create(2)). Where there is none, as on macOS, it is the file at `file`, made anew.
 * @throws Error when there is no room for it
 */
export function createSealed(file: string, format: string, words: number): SealedRegion {
  const descriptor = createMemory()
  if (descriptor === null) return createFile(file, format, words)
  const path = `/proc/${process.pid}/fd/${descriptor}`
  try {
    if (words * 4 > MEMORY_SHARE * availableMemory()) throw noRoom('memory', words * 4, { code: 'ENOSPC' })
    writeRegion(descriptor, format, words)
    if (memory().fcntl(descriptor, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW) !== 0)
      throw new Error('memory cannot be sealed')
    const region = openRegion(path)
    return { region, path, close: () => [region.close(), closeSync(descriptor)] }
  } catch (error) {
    closeSync(descriptor)
    throw error
  }
}

/** A descriptor of memory without a name; null: the system, or what confines this process, has none to give. */
function createMemory(): number | null {
  if (process.platform !== 'linux') return null
  const name = Buffer.from('roster\0')
  const flags = MFD_CLOEXEC | MFD_ALLOW_SEALING
  // Linux before 6.3 does not know the flag; a later one may insist on it.
  for (const more of [MFD_NOEXEC_SEAL, 0]) {
    const descriptor = memory().memfd_create(name, flags | more)
    if (descriptor >= 0) return descriptor
  }
  return null
}

function createFile(path: string, format: string, words: number): SealedRegion {
  const file = new RegionFile(path, format, words)
  file.ensure()
  const region = openRegion(file.path)
  return { region, path: file.path, close: () => [region.close(), file.close()] }
}
