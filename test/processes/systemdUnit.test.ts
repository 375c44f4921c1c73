import { expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { leaveOut, temporaryFolder } from '../support/process.ts'

const PAGE = join(import.meta.dir, '../../docs/operations/run.md')
const hasSystemd = Bun.which('systemd-analyze') !== null

/** Returns systemd's complaints about the text of a unit. */
function verify(unit: string): string {
  const file = join(temporaryFolder().path, 'roster.service')
  writeFileSync(file, unit)
  const { stdout, stderr } = Bun.spawnSync(['systemd-analyze', 'verify', '--man=no', file])
  return `${stdout}${stderr}`
}

test('systemd finds no fault in the unit that docs/operations/run.md shows', () => {
  const [, block = ''] = /^```ini\n(.*?)^```$/ms.exec(readFileSync(PAGE, 'utf8')) ?? []
  const unit = block.replace('/usr/bin/node ', `${Bun.which('node')} `)
  expect(unit).toContain('ExecReload=/bin/kill -USR2 $MAINPID')
  if (!hasSystemd) return leaveOut('CI_REQUIRES_SYSTEMD', 'there is no systemd-analyze: apt-get install systemd')
  expect(verify(unit.replace('KillMode=', 'KilMode='))).toContain('KilMode')
  expect(verify(unit)).toBe('')
})
