// `roster init`: writes the files of a new project. It overwrites no file; to .env, .gitignore and package.json it adds what is
// missing.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { Command } from 'commander'
import { devDependencies } from '../../package.json'
import { errorOf } from '../errors.ts'
import { newTables } from '../postgres/schemaDiff.ts'
import { OWN_FROM } from './generate.ts'
import { CommandError } from './run.ts'
import booking from './starter/booking.ts'

const starter = (file: string) => readFileSync(join(import.meta.dir, 'starter', file), 'utf8')

/** Returns the command. The project has one entity, its migration and a test; `npm start` serves it. */
export function initCommand(): Command {
  return new Command('init')
    .description('Write a project of your own: one entity, its migration, a test. Nothing that is there is overwritten.')
    .argument('<folder>', 'where; it may be there already')
    .addHelpText('after', '\nExample:\n  npm install ../roster/roster-<version>.tgz && npx roster init .')
    .action((folder: string) => init(resolve(folder)))
}

/** Files that a folder often has already, with the lines that are added to them if they are missing. */
const SHARED: Readonly<Record<string, readonly string[]>> = {
  '.env': ['ENTITIES_DIR=entities', 'MIGRATIONS_DIR=migrations'],
  '.gitignore': ['node_modules', '.data'],
}

/** Writes the files of a project. @throws CommandError if one of them exists */
function init(folder: string) {
  const files: Record<string, string> = {
    'entities/booking.ts': starter('booking.ts').replace('../../model/entity.ts', 'roster/entity'),
    [`migrations/${OWN_FROM}_booking.sql`]: newTables([booking]),
    'test/booking.test.ts': starter('booking.test.txt'),
  }
  const there = Object.keys(files).filter((file) => existsSync(join(folder, file)))
  if (there.length > 0) throw new CommandError(`${there.join(' and ')} of ${folder} would be overwritten: nothing was written`)
  const manifest = manifestOf(folder)
  if (!existsSync(join(folder, 'tsconfig.json'))) files['tsconfig.json'] = starter('tsconfig.txt')
  for (const [file, lines] of Object.entries(SHARED)) files[file] = withLines(join(folder, file), lines)
  files['package.json'] = `${JSON.stringify(manifest, null, 2)}\n`
  const names = Object.keys(files).sort()
  for (const name of names) {
    const file = join(folder, name)
    try {
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, files[name] as string)
    } catch (error) {
      throw new CommandError(`${file} cannot be written: ${errorOf(error).message}`)
    }
  }
  const isInstalled = existsSync(join(folder, 'node_modules/roster'))
  console.error(`roster: wrote ${names.join(', ')}; ${isInstalled ? '' : 'after npm install, '}npm start serves /Bookings`)
}

/** Returns the text of the file with missing lines added; existing settings stay as they are. */
function withLines(file: string, lines: readonly string[]): string {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const there = text.split(/\r?\n/).map(nameOf)
  const lacking = lines.filter((line) => !there.includes(nameOf(line)))
  return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${lacking.map((line) => `${line}\n`).join('')}`
}

/** Returns the name of the setting in a line of .env, or the path in a line of .gitignore. */
function nameOf(line: string): string {
  return (line.replace(/^\s*(export\s+)?/, '').split('=')[0] as string).trim().replace(/\/$/, '')
}

/** Returns the content of the folder's package.json, with missing members added. */
function manifestOf(folder: string) {
  const file = join(folder, 'package.json')
  const found: Manifest = existsSync(file) ? readManifest(file) : { private: true, type: 'module' }
  const { test = 'no test specified', ...scripts } = found.scripts ?? {}
  return {
    ...found,
    scripts: {
      start: 'roster',
      migration: 'roster generate migration',
      // `npm init` writes a test script that only fails.
      test: /no test specified/.test(test) ? 'roster bun test' : test,
      ...scripts,
    },
    devDependencies: { 'bun-types': devDependencies['bun-types'], ...found.devDependencies },
    dependencies: found.devDependencies?.roster
      ? { ...found.dependencies }
      : { roster: ownSource(folder), ...found.dependencies },
  }
}

interface Manifest {
  readonly type?: string
  readonly private?: boolean
  readonly scripts?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

function readManifest(file: string): Manifest {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new CommandError(`${file} is no JSON: ${errorOf(error).message}`)
  }
}

const ROOT = join(import.meta.dir, '../..')

/**
 * Returns the source from which npm gets this package: the source that the project declares, else the package's folder. Npm's
 * registry has a different package of this name.
 */
function ownSource(folder: string): string {
  const [project = ''] = /^.*(?=\/node_modules\/roster$)/.exec(ROOT) ?? []
  const file = join(project, 'package.json')
  const found = project !== '' && existsSync(file) ? readManifest(file) : {}
  const { roster } = { ...found.devDependencies, ...found.dependencies }
  if (roster === undefined) return `file:${relative(folder, ROOT)}`
  return roster.startsWith('file:') ? `file:${relative(folder, resolve(project, roster.slice('file:'.length)))}` : roster
}
