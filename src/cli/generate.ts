import { Command } from 'commander'
import { clientFile } from '../client/clientFile.ts'
import type { Config } from '../config/config.ts'
import { loadEntities } from '../registry.ts'
import { writeMigration } from './migration.ts'
import { print } from './output.ts'

/**
 * `readEntitiesDir`: the one setting that a client needs. `generate client`, which needs no database, and `generate migration`:
 * files that follow from the entities.
 */
export function generateCommand(readSettings: () => Config, readEntitiesDir: () => string | null = () => null): Command {
  const generate = new Command('generate').description('Print files that follow from the entities.')
  generate.showHelpAfterError('(--help says more)')
  generate
    .command('client')
    .description('Print a typed client: one TypeScript file without imports, for Bun, Node and browsers.')
    .addHelpText('after', '\nExample:\n  npm run --silent roster generate client > roster.ts')
    .action(async () => print(clientFile(await loadEntities(readEntitiesDir()))))
  generate
    .command('migration')
    .description('Write the SQL file that makes the tables of the database as the entities declare them. Drops nothing.')
    .argument('[name]', 'what the file is about, instead of the names of its tables')
    .addHelpText('after', '\nExample:\n  npm run --silent roster generate migration')
    .action((name?: string) => writeMigration(readSettings(), name))
  return generate
}
