// The entry point of the command line: declares the commands, and runs one; without a name, `serve`.
import { Command } from 'commander'
import { version } from '../package.json'
import { configCommand } from './cli/config.ts'
import { exportCommand } from './cli/export.ts'
import { generateCommand } from './cli/generate.ts'
import { hooksCommand } from './cli/hooks.ts'
import { importCommand } from './cli/import.ts'
import { journalFolder } from './cli/importJournal.ts'
import { initCommand } from './cli/init.ts'
import { keysCommand } from './cli/keys.ts'
import { migrateCommand } from './cli/migrate.ts'
import { rolesCommand } from './cli/roles.ts'
import { runCommandLine } from './cli/run.ts'
import { seedCommand } from './cli/seed.ts'
import { readConfig } from './config/config.ts'
import { readEnvironmentFiles } from './config/environmentFiles.ts'
import { effectiveSettings } from './config/settingSources.ts'
import { settingsHelp } from './config/settings.ts'
import { nearMisses } from './config/unknownSettings.ts'
import { doctorCommand } from './doctor/doctor.ts'

const readSettings = () => readConfig(process.env, readEnvironmentFiles())
/** Settings of commands that need no database, read without checking the other settings. */
const entitiesDir = process.env.ENTITIES_DIR || null
const rolesFile = process.env.ROLES_FILE || null

const program = new Command('roster')
  .description('An HTTP API server for people data. Settings are environment variables, or lines of a .env file.')
  .version(version)
  .addHelpText('after', () => `\n${settingsHelp()}`)
program
  .command('serve', { isDefault: true })
  .description('Start the server (the default).')
  .addHelpText('after', () => `\n${settingsHelp()}`)
  // Imported here, so that other commands start faster.
  .action(async () => {
    const { serve } = await import('./processes/serve.ts')
    await serve(readSettings(), Number(process.env.ROSTER_LAUNCHER), nearMisses(process.env))
  })
program.addCommand(configCommand(() => effectiveSettings(process.env, readEnvironmentFiles()), readSettings))
program.addCommand(doctorCommand(readSettings))
program.addCommand(keysCommand(readSettings))
program.addCommand(hooksCommand(readSettings))
program.addCommand(rolesCommand(readSettings, { entitiesDir, rolesFile }))
program.addCommand(migrateCommand(readSettings))
program.addCommand(seedCommand(readSettings))
program.addCommand(generateCommand(readSettings, { entitiesDir, rolesFile }))
program.addCommand(initCommand())
program.addCommand(exportCommand(process.env.ROSTER_KEY, readSettings))
const journals = journalFolder(process.env)
program.addCommand(importCommand({ key: process.env.ROSTER_KEY, entitiesDir, journals }, readSettings))

process.exitCode = await runCommandLine(program, process.argv.slice(2))
