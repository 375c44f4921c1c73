// All checks, in the order of how soon they fail: `npm run check`. The tests run as two halves side by side.
import { spawn } from 'node:child_process'

const bin = 'node_modules/.bin'
const half = (index: number) => [process.execPath, 'test', '--only-failures', `--shard=${index}/2`]

const steps: [name: string, commands: string[][]][] = [
  ['format and lint', [[`${bin}/biome`, 'check', '--error-on-warnings']]],
  ['types', [[`${bin}/tsc`]]],
  ['unused code and dependencies', [[`${bin}/knip`]]],
  ['tests', [half(1), half(2)]],
]

for (const [name, commands] of steps) {
  const startMs = Date.now()
  const codes = await Promise.all(commands.map(run))
  const isGood = codes.every((code) => code === 0)
  console.log(`${isGood ? 'ok  ' : 'FAIL'} ${name} (${((Date.now() - startMs) / 1000).toFixed(1)} s)`)
  if (!isGood) process.exit(1)
}

function run([program, ...args]: string[]): Promise<number | null> {
  return new Promise((done) => spawn(program as string, args, { stdio: 'inherit' }).once('close', done))
}
