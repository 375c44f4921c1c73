import { closeSync, openSync, readSync } from 'node:fs'
import { isSecret, settings } from './settings.ts'

type Environment = Readonly<Record<string, string | undefined>>

const END = '_FILE'
const BYTES_MAX = 64 * 1024

/** The variables that name files of secrets, as containers get them: `DATABASE_URL_FILE`. */
export const secretFileNames: readonly string[] = Object.keys(settings)
  .filter(isSecret)
  .map((name) => name + END)

export interface SecretFiles {
  /** The whole environment, with these settings as if it had them. */
  readonly environment: Environment
  readonly files: ReadonlyMap<string, string>
  readonly faults: readonly string[]
}

/** Reads the secrets that the environment names files of; a line break at the end of a file is not part of it. */
export function readSecretFiles(environment: Environment): SecretFiles {
  const read: Record<string, string | undefined> = { ...environment }
  const files = new Map<string, string>()
  const faults: string[] = []
  for (const variable of secretFileNames) {
    const file = environment[variable]
    if (!file) continue
    const name = variable.slice(0, -END.length)
    if (environment[name]) {
      faults.push(`${name} and ${variable} are both set: take one of them away`)
      continue
    }
    try {
      read[name] = readSecret(file)
      files.set(name, file)
    } catch (error) {
      faults.push(`${variable} must name a file with the value: ${(error as Error).message}`)
    }
  }
  return { environment: read, files, faults }
}

/** @throws Error that says what is wrong with the file */
function readSecret(file: string): string {
  let bytes: Buffer
  try {
    bytes = readUpTo(file, BYTES_MAX + 1)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // The name is not repeated: who has put the secret itself there would find it in the log.
    throw new Error(code === 'ENOENT' ? 'there is no file of that name' : `the file cannot be read (${code})`)
  }
  if (bytes.length > BYTES_MAX) throw new Error(`${file} has more than ${BYTES_MAX} bytes`)
  const text = bytes.toString('utf8').replace(/\r?\n$/, '')
  if (text === '') throw new Error(`${file} is empty`)
  return text
}

/** No more than so many bytes, though the file may have no end. */
function readUpTo(file: string, bytesMax: number): Buffer {
  const descriptor = openSync(file, 'r')
  try {
    const bytes = Buffer.alloc(bytesMax)
    let length = 0
    for (let read = -1; read !== 0 && length < bytesMax; length += read)
      read = readSync(descriptor, bytes, length, bytesMax - length, null)
    return bytes.subarray(0, length)
  } finally {
    closeSync(descriptor)
  }
}
