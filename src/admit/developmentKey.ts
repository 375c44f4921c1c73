import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'

/** Where the key is kept; an absolute path. */
export function developmentKeyFile(dataDir: string): string {
  return resolve(dataDir, 'development.key')
}

/** The same at every start, so that a command copied yesterday works today. */
export function readDevelopmentKey(dataDir: string): string {
  const file = developmentKeyFile(dataDir)
  mkdirSync(dataDir, { recursive: true })
  if (!existsSync(file)) {
    writeFileSync(`${file}.part`, `roster_dev_${randomBytes(24).toString('hex')}`, { mode: 0o600 })
    renameSync(`${file}.part`, file) // whole or not at all
  }
  return readFileSync(file, 'utf8').trim()
}
