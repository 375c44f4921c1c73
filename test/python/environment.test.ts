import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { leaveOut } from '../support/process.ts'
import { pythonPrograms } from './environment.ts'

const { bin, lack } = await pythonPrograms()

if (bin !== null)
  describe('the Python environment', () => {
    test('has the versions that requirements.txt pins, and no other packages', async () => {
      const script = `from importlib.metadata import distributions
for one in distributions(): print(one.metadata['Name'] + '==' + one.version)`
      const child = Bun.spawn([join(bin, 'python'), '-c', script], { stdout: 'pipe' })
      const plain = (text: string) => text.toLowerCase().replace(/[._-]+(?=.*==)/g, '-')
      const linesOf = (text: string) => text.split('\n').filter((line) => /^\S+==/.test(line))
      const installed = linesOf(await new Response(child.stdout).text()).map(plain)
      const pinned = linesOf(readFileSync(join(import.meta.dir, 'requirements.txt'), 'utf8')).map(plain)
      expect(installed.filter((line) => !/^(pip|setuptools|uv)==/.test(line)).sort()).toEqual(pinned.sort())
    })
  })
else test('is not tested, because it could not be made', () => leaveOut('CI_REQUIRES_PYTHON', lack))
