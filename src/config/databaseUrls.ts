import { readDatabaseUrl } from '../model/databaseUrl.ts'
import { readAuthorities } from '../os/certificate.ts'

/** Whether an address can be used, with the file that it names. @throws Error that says what is wrong, and repeats no value */
export function checkDatabaseUrl(text: string): void {
  const { authoritiesFile } = readDatabaseUrl(text)
  if (authoritiesFile !== undefined) readAuthorities(authoritiesFile)
}
