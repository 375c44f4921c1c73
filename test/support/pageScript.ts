import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { curlOf, readRequests } from '../recipes/httpFile.ts'
import { type Exchange, SHOWN_URL } from './documents.ts'

const ROOT = join(import.meta.dir, '../..')
const SEPARATOR = '----- the next command -----'
const SEPARATE = `echo; echo '${SEPARATOR}'`
const END = 'END OF THE BLOCK'
const END_LINE = 'set -- $?; echo; return $1'

/** Surroundings of a page's commands. */
export interface Surroundings {
  /** Port of the server that replaces the one on port 3000. */
  readonly port: string
  /** Data folder of the server, with the development key. */
  readonly dataDir: string
  /** Folder of the Python programs; null if the page needs none. */
  readonly pythonBin: string | null
}

/** Returns a shell script that runs the commands one after the other, against the server on `port`. */
export function scriptOf(exchanges: readonly Exchange[], { port, dataDir, pythonBin }: Surroundings): string {
  const bun = `'${process.execPath}' --no-env-file`
  const prelude = [
    'exec 2>&1 3>&1',
    `export CONNECT_PORT=${port} XDG_DATA_HOME='${dataDir}'`,
    // Progress is not shown. `-s` alone would also hide errors, which a reader of the page sees.
    `curl() { case " $* " in *' -s '*) ;; *) set -- -sS "$@" ;; esac; command curl --connect-to 127.0.0.1:3000:127.0.0.1:${port} "$@"; ${END_LINE}; }`,
    // On a busy machine it can take longer than a second until a key is revoked.
    'sleep() { command sleep $(($1 + 1)); }',
    // The command line is run without npm and the launcher, which other tests cover.
    `npm() { [ "$1 $2 $3 $4" = 'run --silent roster --' ] || return 1; shift 4; case $1 in import | export) set -- "$@" --url http://127.0.0.1:${port} ;; esac; ${bun} src/main.ts "$@"; }`,
    ...(pythonBin === null ? [] : [`export PATH='${pythonBin}':"$PATH" PYTHONPATH='${join(ROOT, 'test/python/connect')}'`]),
  ]
  const readKey = () => readFileSync(join(dataDir, 'development.key'), 'utf8').trim()
  const programs: Record<Exchange['program'], (commands: string[]) => string[]> = {
    sh: (commands) => commands.flatMap((command) => [command, SEPARATE]),
    python: (commands) => {
      const text = commands.map((command) => `${command}\nprint(); print('${SEPARATOR}')`).join('\n')
      return [`python -u - <<'${END}'\n${text}\n${END}`]
    },
    http: (commands) =>
      readRequests(commands.join('\n\n'), { ROSTER_KEY: readKey() }).flatMap((request) => [curlOf(request), SEPARATE]),
    powerquery: (commands) => {
      const text = commands.join(`\n${SEPARATOR}\n`)
      return [
        `ROSTER_URL='${SHOWN_URL}' ROSTER_KEY='${readKey()}' ${bun} test/recipes/powerQuery.ts '${SEPARATOR}' <<'${END}'\n${text}\n${END}`,
      ]
    },
  }
  const commands = runsOf(exchanges).flatMap(({ program, commands }) => programs[program](commands))
  return [...prelude, ...commands.map((command) => command.replaceAll('.data/', `${dataDir}/`))].join('\n')
}

/**
 * Groups consecutive commands of one program into one run. So a variable of one block can be used in the next block, as if a
 * reader had the blocks in one file.
 */
function runsOf(exchanges: readonly Exchange[]): { program: Exchange['program']; commands: string[] }[] {
  const runs: { program: Exchange['program']; commands: string[] }[] = []
  for (const { program, command } of exchanges) {
    const last = runs.at(-1)
    if (last?.program === program) last.commands.push(command)
    else runs.push({ program, commands: [command] })
  }
  return runs
}

/** Returns the output of each command. */
export function outputsOf(output: string, { dataDir }: Pick<Surroundings, 'dataDir'>): string[] {
  const pieces = output.replaceAll('\r', '').replaceAll(`${dataDir}/`, '.data/').split(SEPARATOR)
  return pieces.slice(0, -1).map((piece) => piece.trim())
}
