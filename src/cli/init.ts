import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { Command } from 'commander'
import { version } from '../../package.json'
import { newTables } from '../postgres/nextMigration.ts'
import { OWN_FROM } from './migration.ts'
import { CommandError } from './run.ts'
import booking from './starter/booking.ts'

const STARTER = join(import.meta.dir, 'starter')

/** `init <folder>`: a project with one entity, its migration and a test, which `npm start` serves. */
export function initCommand(): Command {
  return new Command('init')
    .description(
      'Write a project of your own: one entity, its migration, a test. Nothing that is there is overwritten.',
    )
    .argument('<folder>', 'where; it may be there already')
    .showHelpAfterError('(--help says more)')
    .addHelpText('after', '\nExample:\n  npm install roster && npx roster init .')
    .action((folder: string) => init(resolve(folder)))
}

/** @throws CommandError where one of the files is there */
function init(folder: string) {
  const files: Record<string, string> = {
    '.env': 'ENTITIES_DIR=entities\nMIGRATIONS_DIR=migrations\n',
    '.gitignore': 'node_modules\n.data\n',
    'entities/booking.ts': starter('booking.ts').replace('../../model/entity.ts', 'roster/entity'),
    [`migrations/${OWN_FROM}_booking.sql`]: newTables([booking]),
    'test/booking.test.ts': starter('booking.test.txt'),
  }
  const there = Object.keys(files).filter((file) => existsSync(join(folder, file)))
  if (there.length > 0)
    throw new CommandError(`${there.join(' and ')} of ${folder} would be overwritten: nothing was written`)
  const manifest = manifestOf(folder)
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  console.error(`roster: wrote ${['package.json', ...Object.keys(files)].join(', ')}; npm start serves /Bookings`)
}

function starter(file: string): string {
  return readFileSync(join(STARTER, file), 'utf8')
}

/** That of the folder, with what it lacks. */
function manifestOf(folder: string): Manifest {
  const file = join(folder, 'package.json')
  const found: Manifest = existsSync(file)
    ? readManifest(file)
    : { name: basename(folder).toLowerCase(), private: true }
  const scripts = { start: 'roster', migration: 'roster generate migration', test: 'roster bun test' }
  return {
    ...found,
    type: 'module',
    // npm writes a script that only complains.
    scripts: {
      ...scripts,
      ...found.scripts,
      ...(/no test specified/.test(found.scripts?.test ?? '') ? { test: scripts.test } : {}),
    },
    dependencies: { roster: version, ...found.dependencies },
  }
}

interface Manifest {
  readonly name?: string
  readonly private?: boolean
  readonly type?: string
  readonly scripts?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
}

function readManifest(file: string): Manifest {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new CommandError(`${file} is no JSON: ${(error as Error).message}`)
  }
}
