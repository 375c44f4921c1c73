// Secrets from files, as containers and systemd provide them.
import { readFileSync } from 'node:fs'
import { isSecret, settings } from './settings.ts'

const END = '_FILE'

/** The variables that name files of secrets, as containers get them: `DATABASE_URL_FILE`. */
export const secretFileNames: readonly string[] = Object.keys(settings)
  .filter(isSecret)
  .map((name) => name + END)

/**
 * Reads the secrets that the environment names files of; a line break at the end of a file is not part of it. Returns the
 * environment as if it had these settings.
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
    try {
      environment[name] = readSecret(file)
      files.set(name, file)
    } catch (error) {
      faults.push(`${variable} must name a file with the value: ${(error as Error).message}`)
    }
  }
  return { environment, files, faults }
}

/** @throws Error that says what is wrong with the file */
function readSecret(file: string): string {
  let text: string
  try {
    text = readFileSync(file, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // The name is not repeated: who has put the secret itself there would find it in the log.
    throw new Error(code === 'ENOENT' ? 'there is no file of that name' : `the file cannot be read (${code})`)
  }
  if (text === '') throw new Error(`${file} is empty`)
  return text
}
