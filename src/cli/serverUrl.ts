import type { Config } from '../config/config.ts'
import { CommandError } from './run.ts'

/** Help of the option `--url`. */
export const URL_MEANING = 'the address of the server; by default that of the settings: PUBLIC_URL, else HOST and PORT'

/** The address of the server without a slash at its end: as given, or of the settings. @throws CommandError; ConfigError */
export function serverUrl(given: string | undefined, readSettings: () => Config): string {
  if (given !== undefined) return given.replace(/\/+$/, '')
  const { publicUrl, host, port, tlsCert } = readSettings()
  if (publicUrl !== null) return publicUrl
  if (port === 0) throw new CommandError('PORT is 0, so the address of the server is not known: give --url')
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return `${tlsCert === null ? 'http' : 'https'}://${name}:${port}`
}
