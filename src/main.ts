import { Command } from 'commander'
import { version } from '../package.json'
import { exportCommand } from './cli/export.ts'
import { generateCommand } from './cli/generate.ts'
import { initCommand } from './cli/init.ts'
import { keysCommand } from './cli/keys.ts'
import { runCommandLine } from './cli/run.ts'
import { readConfig } from './config/config.ts'
import { readEnvironmentFiles } from './config/environmentFiles.ts'
import { nearMisses } from './config/strays.ts'
import { serve } from './processes/serve.ts'

const readSettings = () => readConfig(process.env, readEnvironmentFiles())

const program = new Command('roster')
  .description('An HTTP API server for people data. Settings are environment variables, or lines of a .env file.')
  .version(version)
program
  .command('serve', { isDefault: true })
  .description('Start the server (the default).')
  .action(() => serve(readSettings(), Number(process.env.ROSTER_LAUNCHER), nearMisses(process.env)))
program.addCommand(keysCommand(readSettings))
program.addCommand(generateCommand(readSettings, () => process.env.ENTITIES_DIR || null))
program.addCommand(initCommand())
program.addCommand(exportCommand(() => process.env.ROSTER_KEY))

process.exitCode = await runCommandLine(program, process.argv.slice(2))
