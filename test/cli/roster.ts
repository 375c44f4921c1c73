import { spyOn } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { importCommand } from '../../src/cli/import.ts'
import { runCommandLine } from '../../src/cli/run.ts'
import { readConfig } from '../../src/config/config.ts'

const ROOT = join(import.meta.dir, '../..')

export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** The command line as a process of its own, with these settings alone in its environment. */
export async function roster(words: readonly string[], settings: Record<string, string> = {}, stdin = ''): Promise<Ended> {
  const child = Bun.spawn([process.execPath, '--no-env-file', 'src/main.ts', ...words], {
    cwd: ROOT,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...settings },
    stdin: Buffer.from(stdin),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { code: await child.exited, stdout, stderr }
}

/** Writes each text to a new file of a folder, and returns its path. */
export function filesIn(folder: string): (text: string | Uint8Array, end?: string) => string {
  let files = 0
  return (text, end = 'csv') => {
    const path = join(folder, `rows${++files}.${end}`)
    writeFileSync(path, text)
    return path
  }
}

/** A command in this process: what needs no process of its own is quicker so. */
export async function rosterHere(command: Command, words: readonly string[]): Promise<Ended> {
  const written = { stdout: '', stderr: '' }
  const spies = [
    spyOn(Bun, 'write').mockImplementation((async (_: unknown, text: string) => (written.stdout += text).length) as never),
    spyOn(process.stdout, 'write').mockImplementation((text) => (written.stdout += text) !== ''),
    spyOn(process.stderr, 'write').mockImplementation((text) => (written.stderr += text) !== ''),
    spyOn(console, 'error').mockImplementation((text) => void (written.stderr += `${text}\n`)),
  ]
  try {
    const program = new Command('roster').addCommand(command)
    return { code: await runCommandLine(program, [command.name(), ...words]), ...written }
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
}

/** `roster import` in this process. */
export function importHere(words: readonly string[], key: string | null): Promise<Ended> {
  return rosterHere(
    importCommand(key ?? undefined, null, () => readConfig({})),
    words,
  )
}
