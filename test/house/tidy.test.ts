import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { dependencies as peers } from '../../bench/peers/package.json'
import peersLockfile from '../../bench/peers/package-lock.json'
import manifest from '../../package.json'
import lockfile from '../../package-lock.json'
import { errorTable } from '../../src/errors.ts'
import { dependencies as consumers } from '../consumers/package.json'
import consumersLockfile from '../consumers/package-lock.json'
import { TEST_MS_MAX } from '../support/testFiles.ts'

const ROOT = join(import.meta.dir, '../..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

/** What the repository has, and what is about to be added to it. */
const { stdout } = Bun.spawnSync(['git', 'ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate'], {
  cwd: ROOT,
})
const { stdout: gone } = Bun.spawnSync(['git', 'ls-files', '--deleted'], { cwd: ROOT })
const lines = (bytes: Uint8Array) => new TextDecoder().decode(bytes).split('\n').filter(Boolean)
const deleted = new Set(lines(gone))
const tracked = lines(stdout).filter((path) => !deleted.has(path))
const source = tracked.filter((path) => /^src\/.*\.(tsx?|mjs)$/.test(path))
const code = tracked.filter((path) => /\.(tsx?|mjs|js|sql)$/.test(path))

/** `path:line` of every line that matches. */
function found(pattern: RegExp, paths: string[]): string[] {
  return paths.flatMap((path) =>
    read(path)
      .split('\n')
      .flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}`] : [])),
  )
}

describe('files', () => {
  test('no file of src has more than 400 lines', () => {
    expect(source).toEqual(expect.arrayContaining(['src/main.ts', 'src/launch.mjs']))
    expect(source.filter((path) => read(path).trimEnd().split('\n').length > 400)).toEqual([])
  })

  test('no file or folder is called utils, helpers, common or managers', () => {
    const empty = /^(utils?|helpers?|common|managers?)(\.\w+)*$/i
    expect(tracked.filter((path) => path.split('/').some((part) => empty.test(part)))).toEqual([])
  })

  test('only three folders have a lockfile: the project, bench/peers and test/consumers', () => {
    const locks = ['package-lock.json', 'npm-shrinkwrap.json', 'yarn.lock', 'pnpm-lock.yaml', 'bun.lock', 'bun.lockb']
    expect(tracked.filter((path) => locks.includes(basename(path)))).toEqual([
      'bench/peers/package-lock.json',
      'package-lock.json',
      'test/consumers/package-lock.json',
    ])
  })
})

test('tests load the folder of entities only if they hold for any entity, and truncate company and employee with cascade', () => {
  // These hold for each entity that the folder has, or run a program that reads it.
  const ofFolder = [
    ...['test/cli/generate', 'test/doctor/doctor', 'test/house/schema', 'test/postgres/schemaDiff'],
    'test/registry',
  ].map((path) => `${path}.test.ts`)
  const tests = tracked.filter((path) => path.endsWith('.test.ts') && path !== 'test/house/tidy.test.ts')
  expect(tests.filter((path) => /\bloadEntities\(\)/.test(read(path)))).toEqual(ofFolder)
  expect(found(/\btruncate [^`';]*\b(company|employee)\b(?!.*\bcascade\b)/, tests)).toEqual([])
})

describe('comments', () => {
  test('no doc comment begins with a word such as What, Whether, Where or Those', () => {
    const riddles = /^\s*\/\*\*\s+(\*\s+)?(What|Who|Whose|Whom|Whether|Where|Of|So|The same|Those|That)\b/
    const begins = source.flatMap((path) =>
      [...read(path).matchAll(/^[ \t]*\/\*\*[\s\S]*?\*\//gm)].flatMap(([text]) =>
        riddles.test(text) ? [`${path}: ${text.trim().slice(0, 80)}`] : [],
      ),
    )
    expect(begins).toEqual([])
  })

  test('each module of src begins with a comment, except for files that projects copy, and entities', () => {
    // These are copied into projects as they are; a declaration of an entity begins with the entity's name.
    const shown = /^src\/(client\/|cli\/starter\/|entities\/)|\/vendor\//
    expect(source.filter((path) => !shown.test(path) && !/^(#!.*\n)?\/\/ /.test(read(path)))).toEqual([])
  })

  test('no line of a comment is longer than 130 characters', () => {
    // It has the comments of the file that it generates.
    const written = source.filter((path) => path !== 'src/client/clientFile.ts')
    expect(found(/^(?=.{131})\s*(\/\*\*|\*|\/\/)/, written)).toEqual([])
  })
})

const { dependencies, devDependencies, optionalDependencies } = manifest

describe.each([
  ['the project', { ...dependencies, ...devDependencies, ...optionalDependencies }, lockfile, 50],
  ['the programs that benches compare with', peers, peersLockfile, 100],
  ['the programs that tests hand output to', consumers, consumersLockfile, 30],
] as [string, Record<string, string>, { packages: Record<string, { version?: string }> }, number][])(
  'dependencies of %s are the same everywhere, from any mirror of the registry',
  (_, named, { packages }, packagesMin) => {
    test('each has an exact version, and the lockfile has the same version', () => {
      const locked = Object.keys(named).map((name) => [name, packages[`node_modules/${name}`]?.version ?? ''])
      expect(Object.fromEntries(locked)).toEqual(named)
      expect(Object.values(named).filter((version) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([])
    })

    test('the lockfile names no registry', () => {
      expect(Object.entries(packages).filter(([, entry]) => 'resolved' in entry)).toEqual([])
      expect(Object.keys(packages).length).toBeGreaterThan(packagesMin)
    })
  },
)

describe('nothing is left undone', () => {
  // In pieces, so that this file does not find itself.
  const words = ['TO' + 'DO', 'FIX' + 'ME', 'X' + 'XX'].join('|')
  const leftOut = ['sk' + 'ip', 'on' + 'ly', 'to' + 'do', 'fail' + 'ing', 'sk' + 'ipIf', 'to' + 'doIf', 'i' + 'f'].join('|')

  test('no file has a note of work that is still to do', () => {
    const texts = tracked.filter((path) => path !== 'package-lock.json' && !/\.(png|jpe?g|ico|gz|woff2?)$/.test(path))
    expect(found(new RegExp(`\\b(${words})\\b`), texts)).toEqual([])
  })

  test('no test is left out, and no test runs only under a condition', () => {
    const tests = code.filter((path) => path.startsWith('test/'))
    expect(found(new RegExp(`\\b(test|it|describe)\\.(${leftOut})\\b|\\b[xf](it|describe|test)\\(`), tests)).toEqual([])
    expect(tests.length).toBeGreaterThan(10)
  })
})

test('each test with its own time limit has more time than the default, because a busy machine needs that', () => {
  const limits = code
    .filter((path) => path.endsWith('.test.ts'))
    .flatMap((path) =>
      [...read(path).matchAll(/^ *\},(?: |\n *)([\d_]+)(?:|,\n *)\)$/gm)].map(([, ms = '']) => ({
        path,
        ms: Number(ms.replaceAll('_', '')),
      })),
    )
  expect(limits.filter(({ ms }) => ms <= TEST_MS_MAX)).toEqual([])
  expect(limits.length).toBeGreaterThan(0)
})

describe('each task is done in one folder or file of src', () => {
  test('only config/, and a few listed files, read the environment', () => {
    const allowed = [
      'src/main.ts', // hands the environment to config/, and asks who launched it
      'src/index.ts', // the same, for an app of which the API is a part
      'src/launch.mjs', // runs before anything of ours can be imported
      'src/processes/workerProcess.ts', // passes it on to the workers
      'src/postgres/runner.ts', // passes PATH on to PostgreSQL
      'src/cli/run.ts', // looks for options that npm has kept
      'src/pages/vendor/buildExplore.ts', // builds a script, the same in any environment
    ]
    const readers = found(/\b(process\.env|Bun\.env|import\.meta\.env)\b/, source).map((place) => place.split(':')[0])
    expect(
      [...new Set(readers)].filter((path) => !(path as string).startsWith('src/config/') && !allowed.includes(path as string)),
    ).toEqual([])
    expect(readers).toContain('src/main.ts')
  })

  test('only model/sql.ts creates objects of the class Sql', () => {
    const makers = found(/\bnew Sql\(/, source).map((place) => place.split(':')[0])
    expect([...new Set(makers)]).toEqual(['src/model/sql.ts'])
  })

  test('only respond/ looks up the status of an error', () => {
    const mappers = found(/\berrorTable\[/, source).map((place) => place.split(':')[0] as string)
    expect(mappers.filter((path) => !path.startsWith('src/respond/'))).toEqual([])
    expect(mappers).toContain('src/respond/error.ts')
  })
})

describe('the documented error codes are those of the program', () => {
  /** The cells of the rows that begin with a name in backquotes. */
  const rowsOf = (path: string) =>
    read(path)
      .split('\n')
      .filter((line) => /^\| `\w+` \|/.test(line))
      .map((line) =>
        line
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim().replace(/^`(.*)`$/, '$1')),
      )

  test('docs/errors.md lists every error code with its status and title, and no other code', () => {
    expect(rowsOf('docs/errors.md').map(([name, status, title]) => [name as string, Number(status), title])).toEqual(
      Object.entries(errorTable).map(([name, { status, title }]) => [name, status, title]),
    )
  })

  test('src uses each error code outside the table of errors', () => {
    // The table's own keys have no quotes.
    expect(Object.keys(errorTable).filter((name) => found(new RegExp(`'${name}'`), source).length === 0)).toEqual([])
  })
})
