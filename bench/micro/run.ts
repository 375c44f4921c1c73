// What the parts of a request cost that need no other process: `node src/launch.mjs bench/micro/run.ts`. Rows of one
// run compare with each other.
import { Command, Option } from 'commander'
import { bodyCases } from './body.ts'
import { columnCases } from './columns.ts'
import { compileCases } from './compile.ts'
import { jsonCases } from './json.ts'
import { type Case, measure, printCosts, ROUND_MS, ROUNDS } from './measure.ts'
import { queryCases } from './query.ts'
import { windowCases } from './window.ts'

const parts: Record<string, () => Case[] | Promise<Case[]>> = {
  query: queryCases,
  body: bodyCases,
  compile: compileCases,
  json: jsonCases,
  window: windowCases,
  columns: () => columnCases(),
}

const { only } = new Command('micro')
  .description('Measures the parser, the compiler, the JSON writers, the sliding window and tables in columns.')
  .addOption(new Option('--only <part...>', 'parts to measure').choices(Object.keys(parts)).default(Object.keys(parts)))
  .parse()
  .opts<{ only: string[] }>()

for (const [part, casesOf] of Object.entries(parts)) {
  if (!only.includes(part)) continue
  console.log(
    `${part}: CPU ns of one operation, the median and the best of ${ROUNDS} rounds; ratio to the first of its name`,
  )
  printCosts(await measure(await casesOf(), ROUND_MS, ROUNDS))
}
