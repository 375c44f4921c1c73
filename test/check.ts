// What can be said of the code without running it, in the order of how soon it fails: `npm run check`.
import { spawn } from 'node:child_process'

const bin = 'node_modules/.bin'

const steps: [name: string, command: string[]][] = [
  ['format and lint', [`${bin}/biome`, 'check', '--error-on-warnings']],
  ['types', [`${bin}/tsc`]],
  ['types of the page /explore', [`${bin}/tsc`, '-p', 'src/pages/explore']],
  ['unused code and dependencies', [`${bin}/knip`]],
]

for (const [name, command] of steps) {
  const startMs = Date.now()
  const isGood = (await run(command)) === 0
  console.log(`${isGood ? 'ok  ' : 'FAIL'} ${name} (${((Date.now() - startMs) / 1000).toFixed(1)} s)`)
  if (!isGood) process.exit(1)
}

function run([program, ...args]: string[]): Promise<number | null> {
  return new Promise((done) => spawn(program as string, args, { stdio: 'inherit' }).once('close', done))
}
