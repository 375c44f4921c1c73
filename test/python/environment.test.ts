import { afterAll, describe, expect, test } from 'bun:test'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../support/process.ts'
import { pythonPrograms } from './environment.ts'

const { bin, lack } = await pythonPrograms()
const folder = temporaryFolder()
afterAll(folder.remove)

/** What `pythonPrograms` says in a process that has only `path` to find programs in. */
async function askedWith(path: string): Promise<unknown> {
  const script = `import { pythonPrograms } from ${JSON.stringify(join(import.meta.dir, 'environment.ts'))}
    console.log(JSON.stringify(await pythonPrograms(${JSON.stringify(join(folder.path, 'venv'))})))`
  const child = Bun.spawn([process.execPath, '-e', script], { env: { PATH: path }, stdout: 'pipe' })
  return JSON.parse(await new Response(child.stdout).text())
}

if (bin !== null)
  describe('the environment', () => {
    test('has the versions of requirements.txt, and nothing that it does not pin', async () => {
      const script = `from importlib.metadata import distributions
for one in distributions(): print(one.metadata['Name'] + '==' + one.version)`
      const child = Bun.spawn([join(bin, 'python'), '-c', script], { stdout: 'pipe' })
      const plain = (text: string) => text.toLowerCase().replace(/[._-]+(?=.*==)/g, '-')
      const linesOf = (text: string) => text.split('\n').filter((line) => /^\S+==/.test(line))
      const installed = linesOf(await new Response(child.stdout).text()).map(plain)
      const pinned = linesOf(readFileSync(join(import.meta.dir, 'requirements.txt'), 'utf8')).map(plain)
      expect(installed.filter((line) => !/^(pip|setuptools)==/.test(line)).sort()).toEqual(pinned.sort())
    })

    test('has the programs that tests run', () => {
      expect(['python', 'http', 'schemathesis'].filter((name) => !existsSync(join(bin, name)))).toEqual([])
    })
  })
// CI_REQUIRES_PYTHON is set where the tests of a release run, so that these cannot go missing there unnoticed.
else
  test('needs a python3 that can make virtual environments, and what pip finds', () => {
    console.warn(`test/python: nothing is tested, since ${lack}`)
    expect(process.env.CI_REQUIRES_PYTHON).toBeUndefined()
  })

describe('where Python is missing', () => {
  test('the reason is that it is', async () => {
    expect(await askedWith(folder.path)).toEqual({
      bin: null,
      lack: 'there is no python3 in the path; in Debian: apt-get install python3-venv',
    })
  })

  test('the reason is what Python says, if it cannot make an environment', async () => {
    const program = join(folder.path, 'python3')
    writeFileSync(program, '#!/bin/sh\n[ "$1" = -c ] || { echo "ensurepip is not available" >&2; exit 1; }\n')
    chmodSync(program, 0o755)
    const answer = await askedWith(`${folder.path}:${process.env.PATH}`)
    expect(answer).toEqual({ bin: null, lack: expect.stringContaining('-m venv failed: ensurepip is not available') })
  })
})
