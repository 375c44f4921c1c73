import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { run, runMain, temporaryFolder } from '../support/process.ts'

const ROOT = join(import.meta.dir, '../..')
const README = readFileSync(join(ROOT, 'README.md'), 'utf8')

function block(language: string, containing: string): string {
  const blocks = [...README.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
    ([, text]) => text,
  )
  const found = blocks.find((text) => text?.includes(containing))
  if (!found) throw new Error(`README.md has no ${language} block with ${containing}`)
  return found
}

test('the first request of the README gives what the README prints', async () => {
  const folder = temporaryFolder()
  const server = runMain({ DATA_DIR: folder.path })
  const [, url] = await server.waitFor(/listens on (http:\S+?),/)
  const command = block('sh', 'curl -i')
    .replace('.data/', `${folder.path}/`)
    .replace('http://127.0.0.1:3000', url as string)
  const curl = run(['sh', '-c', command.replace('curl -i', 'curl -s -i')])
  await curl.ended
  const answer = curl
    .output()
    .replaceAll('\r', '')
    .replaceAll(url as string, 'http://127.0.0.1:3000')
  // What differs by nature.
  const masked = (text: string) =>
    text
      .replace(/^(X-Request-Id|X-RateLimit-Reset|Date): .*$/gm, '$1')
      .replace(/&cursor=[\w-]+/g, '&cursor=')
      .trim()
  expect(masked(answer)).toBe(masked(block('http', 'X-Total-Count')))
  server.kill('SIGTERM')
  await server.ended
  folder.remove()
}, 60_000)

test('the entity file in the README is the one in the source', () => {
  const shown = block('ts', 'src/entities/absence.ts').replace('// src/entities/absence.ts\n', '')
  expect(shown).toBe(readFileSync(join(ROOT, 'src/entities/absence.ts'), 'utf8'))
})
