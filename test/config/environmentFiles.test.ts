import { beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { readEnvironmentFiles } from '../../src/config/environmentFiles.ts'
import { temporaryFolder } from '../support/process.ts'

const KINDS = ['development', 'production', 'test', 'staging']
const NAMES = ['.env', '.env.local', ...KINDS.flatMap((kind) => [`.env.${kind}`, `.env.${kind}.local`])]
const MODULE = join(import.meta.dir, '../../src/config/environmentFiles.ts')
/** Returns the name of a variable that only this file sets. */
const variableIn = (name: string) => `IN${name.toUpperCase().replaceAll('.', '_')}`

const folder = temporaryFolder()
beforeAll(() => {
  for (const name of NAMES) writeFileSync(join(folder.path, name), `${variableIn(name)}=x\n`)
})

/** Returns the files that Bun has read in the folder, and those that we report. */
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

/** Every form of a line, each with another name. */
const LINES = `A1=x
export A2=x
A3: x
 A4 = x
A5 =x
"A6"=x
A-7=x
A.8=x
A9_=
A10="m
A11=x
"
A12=\`q
A13=x\`
A14=x # A15=x
#A16=x
A17=it's
A18="a\\"b
A19=x"
A20
\tA22=x
export\tA23=x
A26=x A27=y\r
A28=x\r
A29=$A1\r
# no: 'quote
A30='x
A31=x'
A32=x # neither: "one
A33=http://a/?b="c
A34="x
A35=x"
9A=x`

test('readEnvironmentFiles reads the same names from a file as Bun', () => {
  const place = temporaryFolder()
  writeFileSync(join(place.path, '.env'), LINES)
  const program = `
    const { readEnvironmentFiles } = await import('${MODULE}')
    const read = Object.keys(process.env).filter((name) => /^9?A/.test(name))
    console.log(JSON.stringify([read.sort(), readEnvironmentFiles()[0].variables.toSorted()]))`
  const { stdout } = Bun.spawnSync([process.execPath, '-e', program], { cwd: place.path, env: {} })
  const [read, said] = JSON.parse(String(stdout))
  expect(said).toEqual(read)
  expect(read).toContain('A28')
})

describe('readEnvironmentFiles', () => {
  test.each([{}, { NODE_ENV: 'production' }, { NODE_ENV: 'test' }, { NODE_ENV: 'staging' }, { BUN_ENV: 'production' }])(
    'reads the same files as Bun with the environment %o',
    (environment) => {
      const { read, said, lines } = readIn(environment as Record<string, string>)
      expect(said).toEqual(read)
      expect(lines.sort()).toEqual(read.map(variableIn).sort())
      expect(read).toContain('.env')
    },
  )

  test.each([[['--no-env-file']], [['--env-file=.env.staging']]])('reads no files with the option %o', (options) => {
    expect(readIn({}, options).said).toEqual([])
  })
})
