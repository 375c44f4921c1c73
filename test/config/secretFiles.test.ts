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

describe('the file of a secret', () => {
  test('has its value, without the line break at its end', () => {
    for (const end of ['', '\n', '\r\n']) {
      const file = fileOf('url', URL + end)
      expect(readConfig({ DATABASE_URL_FILE: file }).databaseUrl).toBe(URL)
    }
  })

  test('there is one for each secret, and docs/operations/run.md names all of them', async () => {
    const page = await Bun.file(join(import.meta.dir, '../../docs/operations/run.md')).text()
    expect(secretFileNames).toContain('DATABASE_URL_FILE')
    expect(secretFileNames.filter((name) => !page.includes(`\`${name}\``))).toEqual([])
  })

  test('beside the setting itself is a fault', () => {
    const file = fileOf('url', URL)
    expect(faultOf({ DATABASE_URL: URL, DATABASE_URL_FILE: file })).toBe(
      'DATABASE_URL and DATABASE_URL_FILE are both set: take one of them away',
    )
  })

  test('that is not there, is empty or a folder is a fault', () => {
    const [none, empty] = [join(folder, 'none'), fileOf('empty', '\n')]
    expect(readSecretFiles({ DATABASE_URL_FILE: none }).faults).toEqual([
      'DATABASE_URL_FILE must name a file with the value: there is no file of that name',
    ])
    expect(readSecretFiles({ DATABASE_URL_FILE: empty }).faults[0]).toEndWith(`${empty} is empty`)
    expect(readSecretFiles({ DATABASE_URL_FILE: folder }).faults[0]).toContain('the file cannot be read (EISDIR)')
  })

  test('is named nowhere where it is none, since it may be the secret itself, nor is a wrong value in it repeated', () => {
    const message = faultOf({ DATABASE_URL_FILE: fileOf('wrong', 'mysql://u:secret@db/hr') })
    expect(message).toContain('DATABASE_URL must be')
    expect(message).not.toContain('secret')
    for (const name of secretFileNames) expect(faultOf({ [name]: URL })).not.toContain('secret')
    const shown = effectiveSettings({ DATABASE_URL_FILE: URL }, [])
    expect(JSON.stringify(shown)).not.toContain('secret')
  })

  test('may be named in a .env file, and the file of what is no secret may not', () => {
    const lines = (text: string) => [parseEnvironmentFile('.env', text)]
    const file = fileOf('url', URL)
    expect(readConfig({ DATABASE_URL_FILE: file }, lines(`DATABASE_URL_FILE=${file}`)).databaseUrl).toBe(URL)
    expect(() => readConfig({}, lines('PORT_FILE=/run/port'))).toThrow('.env sets PORT_FILE, which is no setting')
  })
})

describe('a setting in force', () => {
  const settingsOf = (environment: Record<string, string>, inherited: string[] = []) => {
    const files = [
      parseEnvironmentFile('.env.local', 'PORT=3001\n'),
      parseEnvironmentFile('.env', 'PORT=3002\nHOST=::1\nWORKERS=2\n'),
    ]
    return new Map(effectiveSettings(environment, files, new Set(inherited)).map((own) => [own.name, own]))
  }

  test('comes from the environment, a file of settings, or is the default', () => {
    const found = settingsOf({ PORT: '3001', HOST: '::1', WORKERS: '4', MEMORY_MB: '' }, ['WORKERS', 'MEMORY_MB'])
    expect(['PORT', 'HOST', 'WORKERS', 'MEMORY_MB', 'PUBLIC_URL'].map((name) => found.get(name))).toEqual([
      { name: 'PORT', value: '3001', isSet: true, isSecret: false, from: '.env.local' },
      { name: 'HOST', value: '::1', isSet: true, isSecret: false, from: '.env' },
      { name: 'WORKERS', value: '4', isSet: true, isSecret: false, from: 'environment' },
      { name: 'MEMORY_MB', value: '256', isSet: true, isSecret: false, from: 'default' },
      { name: 'PUBLIC_URL', value: null, isSet: false, isSecret: false, from: 'default' },
    ])
  })

  test('that is secret has no value here, and of the address of a database its place alone', () => {
    const file = fileOf('key', 'k'.repeat(20))
    const found = settingsOf({ DATABASE_URL: URL, BOOTSTRAP_API_KEY_FILE: file }, ['DATABASE_URL'])
    expect(found.get('DATABASE_URL')).toEqual({
      ...{ name: 'DATABASE_URL', value: 'db:5432/hr', isSet: true, isSecret: true, from: 'environment' },
    })
    expect(found.get('BOOTSTRAP_API_KEY')).toMatchObject({ value: null, isSet: true, from: `file ${file}` })
    expect(found.get('RATE_LIMIT_STORE')).toMatchObject({ isSet: false, from: 'default' })
  })
})
