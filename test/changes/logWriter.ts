// Appends numbered records to a log of changes until it is killed: `<region> <writer> <first number>`.
import { ChangeLogWriter } from '../../src/changes/log.ts'
import { openRegion } from '../../src/os/region.ts'

const [path, writer, first] = process.argv.slice(2)
const ring = new ChangeLogWriter(openRegion(path as string), Number(writer))
for (let number = Number(first); ; number++) {
  ring.append(JSON.stringify([Number(writer), number, 'z'.repeat(number % 700)]))
  if (number % 50 === 0) await Bun.sleep(1)
}
