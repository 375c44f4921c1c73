import { expect, test } from 'bun:test'
import { roster, rosterHere } from './roster.ts'

async function config(words: readonly string[], environment: Record<string, string>, run = rosterHere) {
  const { code, stdout, stderr } = await run(['config', ...words], environment)
  return { code, output: stdout + stderr }
}

const SECRETS = { DATABASE_URL: 'postgres://u:secret@db/hr', RATE_LIMIT_STORE: 'redis://:secret@cache' }

test('roster config prints the settings that apply and where they come from, but no secret', async () => {
  const { code, output } = await config([], { ...SECRETS, PORT: '4000' }, roster)
  expect(code).toBe(0)
  const lines = output.split('\n').map((line) => line.split(/ {2,}/))
  expect(lines).toContainEqual(['SETTING', 'VALUE', 'FROM'])
  expect(lines).toContainEqual(['PORT', '4000', 'environment'])
  expect(lines).toContainEqual(['HOST', '127.0.0.1', 'default'])
  expect(lines).toContainEqual(['PUBLIC_URL', '-', 'default'])
  expect(lines).toContainEqual(['DATABASE_URL', 'db/hr (hidden)', 'environment'])
  expect(lines).toContainEqual(['WORKERS', expect.stringMatching(/^[1-9]\d*$/), 'default'])
  expect(output).not.toContain('secret')
})

test.each([
  ...['postgres://u:12/secret@db/hr', 'postgres://u:1?secret@db/hr', 'postgres://u:1#secret@db/hr'],
  'postgres://u:p@secret#x@db/hr',
])('roster config does not show the ambiguous DATABASE_URL %s', async (DATABASE_URL) => {
  const { output } = await config([], { DATABASE_URL })
  expect(output).toMatch(/^DATABASE_URL +\(hidden\) +environment$/m)
})

test('roster config names the options that npm consumed, and how to pass them', async () => {
  const npm = { npm_command: 'run', npm_config_json: 'true', npm_config_yes: '' }
  const { code, output } = await config([], npm, roster)
  expect([code, output]).toEqual([
    1,
    'roster: npm has kept --json for itself: put -- in front, as in npm run --silent roster -- config --json …\n',
  ])
  expect((await config(['--json'], npm, roster)).code).toBe(0)
})

test('roster config --json prints the settings as JSON', async () => {
  const { code, output } = await config(['--json'], { ...SECRETS, PORT: '4000' })
  expect([code, output.includes('secret')]).toEqual([0, false])
  expect(JSON.parse(output)).toMatchObject({
    PORT: { value: '4000', isSet: true, isSecret: false, from: 'environment' },
    DATABASE_URL: { value: 'db/hr', isSet: true, isSecret: true, from: 'environment' },
  })
})

test('roster config fails if a setting is wrong, and names the setting', async () => {
  const { code, output } = await config([], { PORT: 'x', BOOTSTRAP_API_KEY: 'short' })
  expect(code).toBe(1)
  expect(output).toContain('roster: PORT must be an integer from 0 to 65535; it is "x"')
  expect(output).toContain('roster: BOOTSTRAP_API_KEY must be 20 to 256 visible ASCII characters\n')
})
