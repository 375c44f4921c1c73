// All checks, in the order of how soon they fail: `npm run check`.
import { spawnSync } from 'node:child_process'

const steps: [name: string, command: string[]][] = [
  ['format and lint', ['node_modules/.bin/biome', 'check', '--error-on-warnings']],
  ['types', ['node_modules/.bin/tsc']],
  ['unused code and dependencies', ['node_modules/.bin/knip']],
  ['tests', [process.execPath, 'test', '--only-failures']],
]

for (const [name, command] of steps) {
  const startMs = Date.now()
  const { status } = spawnSync(command[0] as string, command.slice(1), { stdio: 'inherit' })
  console.log(`${status === 0 ? 'ok  ' : 'FAIL'} ${name} (${((Date.now() - startMs) / 1000).toFixed(1)} s)`)
  if (status !== 0) process.exit(1)
}
