import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { readEnvironmentFiles } from '../../src/config/environmentFiles.ts'
import { temporaryFolder } from '../support/process.ts'

const KINDS = ['development', 'production', 'test', 'staging']
const NAMES = ['.env', '.env.local', ...KINDS.flatMap((kind) => [`.env.${kind}`, `.env.${kind}.local`])]
const MODULE = join(import.meta.dir, '../../src/config/environmentFiles.ts')
/** `.env.local` has a line of this name. */
const variableIn = (name: string) => `IN${name.toUpperCase().replaceAll('.', '_')}`

const folder = temporaryFolder()
beforeAll(() => {
  for (const name of NAMES) writeFileSync(join(folder.path, name), `${variableIn(name)}=x\n`)
})
afterAll(folder.remove)

/** What Bun has read in the folder, by its environment, and what we say that it has. */
function readIn(environment: Record<string, string>, options: string[] = []) {
  const program = `
    const { readEnvironmentFiles } = await import('${MODULE}')
    const read = ${JSON.stringify(NAMES)}.filter((name) => 'IN' + name.toUpperCase().replaceAll('.', '_') in process.env)
    console.log(JSON.stringify({ read, said: readEnvironmentFiles() }))`
  const { stdout } = Bun.spawnSync([process.execPath, ...options, '-e', program], {
    cwd: folder.path,
    env: { PATH: process.env.PATH ?? '', ...environment },
  })
  const { read, said } = JSON.parse(String(stdout)) as { read: string[]; said: ReturnType<typeof readEnvironmentFiles> }
  return { read: read.sort(), said: said.map(({ name }) => name).sort(), lines: said.flatMap((file) => file.variables) }
}

describe('the files are those that Bun reads', () => {
  test.each([{}, { NODE_ENV: 'production' }, { NODE_ENV: 'test' }, { NODE_ENV: 'staging' }, { BUN_ENV: 'production' }])(
    'with %o',
    (environment) => {
      const { read, said, lines } = readIn(environment as Record<string, string>)
      expect(said).toEqual(read)
      expect(lines.sort()).toEqual(read.map(variableIn).sort())
      expect(read).toContain('.env')
    },
  )

  test.each([[['--no-env-file']], [['--env-file=.env.staging']]])('none of these with %o', (options) => {
    expect(readIn({}, options).said).toEqual([])
  })
})
