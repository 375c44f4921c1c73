// Loads the second script, which reads spreadsheets. It is loaded only when it is needed, because most visitors import nothing.
import { READER } from './server.ts'

export type Reader = typeof import('./importReader.ts')
export type { FoundNotation } from '../../spreadsheets/foundNotation.ts'
export type { OpenedFile } from '../../spreadsheets/openedFile.ts'

let loaded: Promise<Reader> | null = null

/** Returns the second script. If loading has failed, the next call tries again. */
export function loadReader(): Promise<Reader> {
  loaded ??= import(READER).catch((error) => {
    loaded = null
    throw error
  })
  return loaded as Promise<Reader>
}
