import { describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../../src/config/config.ts'
import { parseEnvironmentFile } from '../../src/config/environmentFiles.ts'
import { readSecretFiles, secretFileNames } from '../../src/config/secretFiles.ts'
import { effectiveSettings } from '../../src/config/settingSources.ts'
import { temporaryFolder } from '../support/process.ts'

const URL = 'postgres://u:secret@db:5432/hr'
const { path: folder } = temporaryFolder()
const fileOf = (name: string, text: string) => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}
const faultOf = (environment: Record<string, string>) => {
  try {
    readConfig(environment)
    return null
  } catch (error) {
    return (error as Error).message
  }
}

describe('files of secrets', () => {
  test('a secret is read from its file, without the line break at the end', () => {
    for (const end of ['', '\n', '\r\n']) {
      const file = fileOf('url', URL + end)
      expect(readConfig({ DATABASE_URL_FILE: file }).databaseUrl).toBe(URL)
    }
  })

  test('docs/operations/run.md names the setting for the file of each secret', async () => {
    const page = await Bun.file(join(import.meta.dir, '../../docs/operations/run.md')).text()
    expect(secretFileNames).toContain('DATABASE_URL_FILE')
    expect(secretFileNames.filter((name) => !page.includes(`\`${name}\``))).toEqual([])
  })

  test('a secret’s file is refused if the secret itself is set, too', () => {
    const file = fileOf('url', URL)
    expect(faultOf({ DATABASE_URL: URL, DATABASE_URL_FILE: file })).toBe(
      'DATABASE_URL and DATABASE_URL_FILE are both set: take one of them away',
    )
  })

  test('a secret’s file that is missing, empty or a folder is refused', () => {
    const [none, empty] = [join(folder, 'none'), fileOf('empty', '\n')]
    expect(readSecretFiles({ DATABASE_URL_FILE: none }).faults).toEqual([
      'DATABASE_URL_FILE must name a file with the value: there is no file of that name',
    ])
    expect(readSecretFiles({ DATABASE_URL_FILE: empty }).faults[0]).toEndWith(`${empty} is empty`)
    expect(readSecretFiles({ DATABASE_URL_FILE: folder }).faults[0]).toContain('the file cannot be read (EISDIR)')
  })

  test('an error of a secret’s file repeats neither the path, which may be the secret itself, nor the value', () => {
    const message = faultOf({ DATABASE_URL_FILE: fileOf('wrong', 'mysql://u:secret@db/hr') })
    expect(message).toContain('DATABASE_URL must be')
    expect(message).not.toContain('secret')
    for (const name of secretFileNames) expect(faultOf({ [name]: URL })).not.toContain('secret')
    const shown = effectiveSettings({ DATABASE_URL_FILE: URL }, [])
    expect(JSON.stringify(shown)).not.toContain('secret')
  })

  test('a .env file may name a secret’s file, but not a file of another setting', () => {
    const lines = (text: string) => [parseEnvironmentFile('.env', text)]
    const file = fileOf('url', URL)
    expect(readConfig({ DATABASE_URL_FILE: file }, lines(`DATABASE_URL_FILE=${file}`)).databaseUrl).toBe(URL)
    expect(() => readConfig({}, lines('PORT_FILE=/run/port'))).toThrow('.env sets PORT_FILE, which is no setting')
  })
})

describe('settings in force', () => {
  const settingsOf = (environment: Record<string, string>, inherited: string[] = []) => {
    const files = [
      parseEnvironmentFile('.env.local', 'PORT=3001\n'),
      parseEnvironmentFile('.env', 'PORT=3002\nHOST=::1\nWORKERS=2\n'),
    ]
    return new Map(effectiveSettings(environment, files, new Set(inherited)).map((own) => [own.name, own]))
  }

  test('a setting comes from the environment, from a file, or is the default', () => {
    const found = settingsOf({ PORT: '3001', HOST: '::1', WORKERS: '4', MEMORY_MB: '' }, ['WORKERS', 'MEMORY_MB'])
    expect(['PORT', 'HOST', 'WORKERS', 'MEMORY_MB', 'PUBLIC_URL'].map((name) => found.get(name))).toEqual([
      { name: 'PORT', value: '3001', isSet: true, isSecret: false, from: '.env.local' },
      { name: 'HOST', value: '::1', isSet: true, isSecret: false, from: '.env' },
      { name: 'WORKERS', value: '4', isSet: true, isSecret: false, from: 'environment' },
      { name: 'MEMORY_MB', value: '256', isSet: true, isSecret: false, from: 'default' },
      { name: 'PUBLIC_URL', value: null, isSet: false, isSecret: false, from: 'default' },
    ])
  })

  test('a secret setting is shown without its value, and a database only with host and name', () => {
    const file = fileOf('key', 'k'.repeat(20))
    const found = settingsOf({ DATABASE_URL: URL, BOOTSTRAP_API_KEY_FILE: file }, ['DATABASE_URL'])
    expect(found.get('DATABASE_URL')).toEqual({
      ...{ name: 'DATABASE_URL', value: 'db:5432/hr', isSet: true, isSecret: true, from: 'environment' },
    })
    expect(found.get('BOOTSTRAP_API_KEY')).toMatchObject({ value: null, isSet: true, from: `file ${file}` })
    expect(found.get('RATE_LIMIT_STORE')).toMatchObject({ isSet: false, from: 'default' })
  })
})
