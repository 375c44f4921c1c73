// All checks, in the order of how soon they fail: `npm run check`. The tests run as three thirds side by side.
import { spawn } from 'node:child_process'

const bin = 'node_modules/.bin'
const third = (index: number) => [process.execPath, 'test', '--only-failures', `--shard=${index}/3`]

const steps: [name: string, commands: string[][]][] = [
  ['format and lint', [[`${bin}/biome`, 'check', '--error-on-warnings']]],
  ['types', [[`${bin}/tsc`]]],
  ['unused code and dependencies', [[`${bin}/knip`]]],
  ['tests', [third(1), third(2), third(3)]],
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
