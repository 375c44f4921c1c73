import { afterEach, expect, spyOn, test } from 'bun:test'
import { Command } from 'commander'
import { runCommandLine } from '../../src/cli/run.ts'

const served: string[] = []
const written = { stderr: '' }
const spy = spyOn(process.stderr, 'write').mockImplementation((text) => (written.stderr += text) !== '')
afterEach(() => {
  served.length = 0
  written.stderr = ''
  spy.mockClear()
})

/** Runs commands like those of the program: a default command, and another one. */
function run(...words: string[]) {
  const program = new Command('roster')
  program.command('serve', { isDefault: true }).action(() => void served.push('serve'))
  program.addCommand(new Command('keys').action(() => void served.push('keys')))
  return runCommandLine(program, words)
}

test('the default command runs without arguments, and each other command by its name', async () => {
  expect([await run(), await run('serve'), await run('keys')]).toEqual([0, 0, 0])
  expect(served).toEqual(['serve', 'serve', 'keys'])
})

test('a misspelled command is refused with the nearest name', async () => {
  expect(await run('kyes')).toBe(2)
  expect(written.stderr).toBe("error: unknown command 'kyes'. Did you mean keys?\n")
  expect(served).toEqual([])
})

test('the error names an option that npm has consumed, also one such as --no-excel', async () => {
  const program = new Command('roster').addCommand(new Command('import').option('--no-excel', 'as it stands'))
  const npm = { npm_command: 'run', npm_config_excel: '' }
  const before = process.env
  process.env = { ...before, ...npm }
  const said = spyOn(console, 'error').mockImplementation(() => undefined)
  try {
    expect(await runCommandLine(program, ['import'])).toBe(1)
    expect(said.mock.calls.flat().join()).toContain('npm has kept --no-excel for itself')
  } finally {
    said.mockRestore()
    process.env = before
  }
})

test('an unknown command that resembles no other is refused without a suggestion', async () => {
  expect(await run('immigrate', '--now')).toBe(2)
  expect(written.stderr).toBe("error: unknown command 'immigrate'.\n")
})
