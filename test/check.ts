// What can be said of the code without running it, in the order of how soon it fails: `npm run check`.
import { spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'

const bin = 'node_modules/.bin'

interface Step {
  readonly name: string
  readonly command: readonly string[]
  /** Folder whose faults another step finds, by its own rules. */
  readonly leavesOut?: string
}

const steps: Step[] = [
  { name: 'format and lint', command: [`${bin}/biome`, 'check', '--error-on-warnings'] },
  // Index reads are unchecked in src/columns alone, and the whole program imports its files.
  { name: 'types', command: [`${bin}/tsc`, '--pretty', 'false'], leavesOut: 'src/columns/' },
  { name: 'types of src/columns', command: [`${bin}/tsc`, '-p', 'src/columns'] },
  { name: 'types of the page /explore', command: [`${bin}/tsc`, '-p', 'src/pages/explore'] },
  { name: 'unused code and dependencies', command: [`${bin}/knip`] },
]

for (const step of steps) {
  const startMs = Date.now()
  const isGood = await run(step)
  console.log(`${isGood ? 'ok  ' : 'FAIL'} ${step.name} (${((Date.now() - startMs) / 1000).toFixed(1)} s)`)
  if (!isGood) process.exit(1)
}

/** Prints what the step finds, and returns whether that is nothing. */
async function run({ command: [program = '', ...args], leavesOut }: Step): Promise<boolean> {
  const child = spawn(program, args, { stdio: ['inherit', leavesOut === undefined ? 'inherit' : 'pipe', 'inherit'] })
  const ended = new Promise<number | null>((done) => child.once('close', done))
  if (leavesOut === undefined) return (await ended) === 0
  const output = await text(child.stdout as Readable)
  // A fault goes on in lines that are indented.
  const faults = output.split(/\n(?! )/).filter(Boolean)
  const found = faults.filter((fault) => !fault.startsWith(leavesOut))
  for (const fault of found) console.log(fault)
  // A compiler that fails without a fault has checked nothing.
  return found.length === 0 && ((await ended) === 0 || faults.length > 0)
}
