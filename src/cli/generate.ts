import { Command } from 'commander'
import { clientFile } from '../client/clientFile.ts'
import { loadEntities } from '../registry.ts'
import { print } from './run.ts'

/** `generate client`: files that follow from the entities. It needs no database. */
export function generateCommand(): Command {
  const generate = new Command('generate').description('Print files that follow from the entities.')
  generate.showHelpAfterError('(--help says more)')
  generate
    .command('client')
    .description('Print a typed client: one TypeScript file without imports, for Bun, Node and browsers.')
    .addHelpText('after', '\nExample:\n  npm run --silent roster generate client > roster.ts')
    .action(async () => print(clientFile(await loadEntities())))
  return generate
}
