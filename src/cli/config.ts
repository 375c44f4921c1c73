// `roster config`: prints the settings in force, where each comes from, and what is wrong with them.
import { Command } from 'commander'
import type { Config } from '../config/config.ts'
import type { Effective } from '../config/settingSources.ts'
import { formatTable, print } from './output.ts'

/** Returns the command. It prints all settings, and then throws ConfigError if a setting is wrong. */
export function configCommand(effective: () => readonly Effective[], readSettings: () => Config): Command {
  return new Command('config')
    .description('Print the settings in force and where each comes from, without secrets; fail where one is wrong.')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  npm run --silent roster config')
    .action(async ({ json }: { json?: true }) => {
      const settings = effective()
      const byName = Object.fromEntries(settings.map(({ name, ...own }) => [name, own]))
      await print(
        json ? `${JSON.stringify(byName, null, 2)}\n` : formatTable([['SETTING', 'VALUE', 'FROM'], ...settings.map(cellsOf)]),
      )
      readSettings()
    })
}

function cellsOf({ name, value, isSet, isSecret, from }: Effective): string[] {
  const shown = isSecret && isSet ? `${value === null ? '' : `${value} `}(hidden)` : (value ?? '-')
  return [name, shown, from]
}
