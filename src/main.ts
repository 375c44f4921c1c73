import { Command } from 'commander'
import { version } from '../package.json'
import { generateCommand } from './cli/generate.ts'
import { keysCommand } from './cli/keys.ts'
import { runCommandLine } from './cli/run.ts'
import { readConfig } from './config.ts'
import { serve } from './processes/serve.ts'

const program = new Command('roster')
  .description('An HTTP API server for people data. Settings are environment variables, or lines of a .env file.')
  .version(version)
program
  .command('serve', { isDefault: true })
  .description('Start the server (the default).')
  .action(() => serve(readConfig(process.env), Number(process.env.ROSTER_LAUNCHER)))
program.addCommand(keysCommand(() => readConfig(process.env)))
program.addCommand(generateCommand())

process.exitCode = await runCommandLine(program, process.argv.slice(2))
