// Secrets from files, as containers and systemd provide them.
import { readFileSync } from 'node:fs'
import { isSecret, settings } from './settings.ts'

const END = '_FILE'

/** Names of variables that contain the path of a file with a secret, such as `DATABASE_URL_FILE`. */
export const secretFileNames: readonly string[] = Object.keys(settings)
  .filter((name) => isSecret(name))
  .map((name) => name + END)

/**
 * Reads the secrets from the files that the environment names. Returns the environment with these secrets, the path of each
 * setting's file, and faults.
 */
export function readSecretFiles(given: Readonly<Record<string, string | undefined>>) {
  const environment = { ...given }
  const files = new Map<string, string>()
  const faults: string[] = []
  for (const variable of secretFileNames) {
    const file = given[variable]
    if (!file) continue
    const name = variable.slice(0, -END.length)
    if (given[name]) {
      faults.push(`${name} and ${variable} are both set: take one of them away`)
      continue
    }
    const fail = (reason: string) => faults.push(`${variable} must name a file with the value: ${reason}`)
    try {
      // A line break at the end is not part of the secret.
      environment[name] = readFileSync(file, 'utf8').replace(/\r?\n$/, '')
      if (environment[name] === '') fail(`${file} is empty`)
      files.set(name, file)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      // The message does not repeat the value: an operator may have put the secret itself there, and messages are logged.
      fail(code === 'ENOENT' ? 'there is no file of that name' : `the file cannot be read (${code})`)
    }
  }
  return { environment, files, faults }
}
