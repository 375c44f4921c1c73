// The text of the roles file that workers get, while restarts follow one another. D102
import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { RolesText } from '../../src/processes/rolesText.ts'
import { entities } from '../support/entities.ts'
import { temporaryFolder } from '../support/process.ts'
import { quietLog } from '../support/quietLog.ts'

test('If a faulty roles file is read while a restart ends, new workers get the text of the last restart that succeeded', () => {
  const path = join(temporaryFolder().path, 'roles.txt')
  const [first, second, faulty] = ['role a\n', 'role b\n', 'role c\n  red Companies\n']
  writeFileSync(path, first)
  const text = new RolesText(path, quietLog({}))
  text.readForStart(entities)
  expect(text.take()).toBe(first)

  writeFileSync(path, second)
  expect(text.readAnew()).toBe(true)
  expect(text.take()).toBe(second)
  // The last worker of before finishes its requests, and an operator sends SIGUSR2 once more.
  writeFileSync(path, faulty)
  expect(text.readAnew()).toBe(true)
  text.endRestart(true)

  expect(text.take()).toBe(faulty)
  text.endRestart(false)
  expect(text.take()).toBe(second)
})
