// Begins a write, and ends it when something is read: `<region> <writer> <tables>`.
import { FlagWriter } from '../../src/changes/inFlight.ts'
import { openRegion } from '../../src/os/region.ts'

const [path, writer, tables] = process.argv.slice(2)
const end = new FlagWriter(openRegion(path as string), Number(writer)).begin(Number(tables)).end
process.stdout.write('begun')
process.stdin.once('data', () => {
  end()
  process.stdout.write('ended')
})
