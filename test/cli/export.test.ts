import { beforeAll, describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../support/process.ts'
import { KEY, makeKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'
import { roster, rosterHere } from './roster.ts'

const ROOT = join(import.meta.dir, '../..')
const one = makeKey({ name: 'one', limits: '1/1m' })
const other = makeKey({ name: 'other', limits: '1/1m' })
const folder = temporaryFolder()

const server = useServer({ keys: [one.record, other.record], environment: { RATE_LIMIT_CLIENTS: '9' } })
beforeAll(async () => {
  await server.sql`insert into company (name, enabled) select 'Größe ' || n, n = 1 from generate_series(1, 1500) as n`
})

const exported = (words: readonly string[], key: string | null = KEY, run = rosterHere) =>
  run(['export', ...words, '--url', server.url], key === null ? {} : { ROSTER_KEY: key })

describe('roster export', () => {
  test('prints the matching rows', async () => {
    const words = ['companies', '--filter', 'Name=>=Größe 2', '--filter', 'Id=<=3', '--fields', 'Name,Id', '--sort', '-Id']
    const { code, stdout } = await exported(words, KEY, roster)
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'id,name\r\n3,Größe 3\r\n2,Größe 2\r\n' })
  })

  test('waits for a slow reader if stdout and stderr are the same pipe', async () => {
    const words = `'${process.execPath}' src/main.ts export companies --format ndjson --url '${server.url}' 2>&1 | (sleep 1; cat)`
    const child = Bun.spawn(['sh', '-c', words], { cwd: ROOT, env: { ...process.env, ROSTER_KEY: KEY } })
    const lines = (await child.stdout.text()).trimEnd().split('\n')
    expect([lines.length, lines.at(-1)]).toEqual([1_501, '0.1 MB'])
  })

  test('writes the rows to a file', async () => {
    const path = join(folder.path, 'companies.ndjson')
    const { code } = await exported(['Companies', '--format', 'ndjson', '--output', path])
    expect(code).toBe(0)
    expect(readFileSync(path, 'utf8').split('\n').length).toBe(1_501)
  })

  test('writes to a named pipe, and does not replace it', async () => {
    const path = join(folder.path, 'pipe')
    const words = `mkfifo '${path}' && (cat '${path}' & exec '${process.execPath}' src/main.ts export companies --url '${server.url}' --output '${path}')`
    const child = Bun.spawn(['sh', '-c', words], { cwd: ROOT, env: { ...process.env, ROSTER_KEY: KEY } })
    expect([(await child.stdout.text()).trimEnd().split('\n').length, statSync(path).isFIFO()]).toEqual([1_501, true])
  })

  test.each([
    ['csv', one.text],
    ['ndjson', other.text],
  ])('fails and leaves no file if the response in %s is cut short', async (format, key) => {
    const path = join(folder.path, `cut.${format}`)
    const { code, stderr } = await exported(['companies', '--format', format, '--output', path], key)
    expect(code).toBe(1)
    expect(stderr).toContain('roster: the export was cut short, and is not whole: ')
    expect(readdirSync(folder.path).filter((name) => name.startsWith('cut'))).toEqual([])
  })

  test.each([
    [['compnies'], KEY, 'There is nothing at this path. Did you mean Companies?'],
    [['companies', '--fields', 'Nmae'], KEY, 'Companies have no property "Nmae". Did you mean Name?'],
    [['companies', '--filter', 'Name'], KEY, 'the filter "Name" is not a property, = and a value'],
    [['companies'], null, 'ROSTER_KEY is not set: it is the key to read with'],
    [['companies', '--output', '/nowhere/x'], KEY, 'the output could not be written: '],
    [['companies', '--output', '/tmp'], KEY, '--output /tmp is a folder'],
  ])('reports the error of %p in one line', async (words, key, message) => {
    const { code, stderr } = await exported(words, key)
    expect(code).toBe(1)
    expect(stderr).toStartWith(`roster: ${message}`)
    expect(stderr.trimEnd().split('\n').length).toBe(1)
  })
})
