import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { leaveOut } from '../support/process.ts'
import { pythonPrograms } from './environment.ts'

test('Kubernetes accepts the manifests, and refuses a property with another name', async () => {
  const { bin, lack } = await pythonPrograms()
  if (bin === null) return leaveOut('CI_REQUIRES_PYTHON', lack)
  const validate = (text: string) => {
    const { exitCode, stdout, stderr } = Bun.spawnSync([join(bin, 'kubernetes-validate'), '--strict', '-'], {
      stdin: Buffer.from(text),
    })
    return { exitCode, said: `${stdout}${stderr}` }
  }
  const text = readFileSync(join(import.meta.dir, '../../deploy/kubernetes.yaml'), 'utf8')
  expect(validate(text)).toMatchObject({ exitCode: 0, said: expect.stringMatching(/(passed[\s\S]*){3}/) })
  expect(validate(text.replace('maxSkew', 'maxScew')).exitCode).not.toBe(0)
})
