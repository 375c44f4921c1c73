import { describe, expect, spyOn, test } from 'bun:test'
import { join } from 'node:path'
import { Command } from 'commander'
import { generateCommand } from '../../src/cli/generate.ts'
import { runCommandLine } from '../../src/cli/run.ts'
import { clientFile } from '../../src/client/clientFile.ts'
import { readConfig } from '../../src/config/config.ts'
import { loadEntities } from '../../src/registry.ts'

const ROOT = join(import.meta.dir, '../..')

/** The words in this process: they print nothing to stdout but help. */
async function here(...words: string[]) {
  let stderr = ''
  const spies = [
    spyOn(process.stderr, 'write').mockImplementation((text) => (stderr += text) !== ''),
    spyOn(process.stdout, 'write').mockImplementation((text) => (stderr += text) !== ''),
  ]
  try {
    const code = await runCommandLine(new Command('roster').addCommand(generateCommand(() => readConfig({}))), [
      'generate',
      ...words,
    ])
    return { code, stderr }
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
}

describe('roster generate client', () => {
  test('prints the client and nothing else, without a database', async () => {
    // A database that nothing could reach, and a setting that would stop a start.
    const env = { PATH: process.env.PATH ?? '', DATABASE_URL: 'postgres://127.0.0.1:1/none', PORT: 'wrong' }
    const child = Bun.spawn([process.execPath, '--no-env-file', 'src/main.ts', 'generate', 'client'], {
      cwd: ROOT,
      env,
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
    expect([await child.exited, stderr]).toEqual([0, ''])
    expect(stdout).toBe(clientFile(await loadEntities()))
  })
})

describe('wrong words', () => {
  test('a misspelt name is answered with the nearest', async () => {
    const { code, stderr } = await here('clinet')
    expect([code, stderr]).toEqual([2, expect.stringContaining("unknown command 'clinet'\n(Did you mean client?)")])
  })

  test('no name is answered with those there are', async () => {
    const { code, stderr } = await here()
    expect([code, stderr]).toEqual([2, expect.stringContaining('client')])
  })

  test('more than the name is refused', async () => {
    expect((await here('client', 'roster.ts')).code).toBe(2)
  })
})
