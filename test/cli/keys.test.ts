import { beforeEach, describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { hashKey, idOf } from '../../src/admit/apiKey.ts'
import { startEmbedded } from '../../src/postgres/embedded.ts'
import { copyCluster } from '../support/cluster.ts'
import { useDatabase } from '../support/database.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { postmasterOf, run, temporaryFolder } from '../support/process.ts'
import { createSingleMigrated } from '../support/singleMigrations.ts'
import { roster, rosterHere } from './roster.ts'

const KEY = /roster_[0-9A-Za-z]{10}_[0-9A-Za-z]{43}/
let settings: Record<string, string>

const keys = (...words: string[]) => rosterHere(['keys', ...words], settings)
/** As a process of its own. */
const keysApart = (...words: string[]) => roster(['keys', ...words], settings)
const create = (name: string, ...more: string[]) => keys('create', '--name', name, '--rights', 'Companies:read', ...more)
const lastLine = (text: string) => text.trimEnd().split('\n').at(-1) ?? ''

describe('keys in an external database', () => {
  const { url: DATABASE_URL, sql } = useDatabase()
  beforeEach(async () => {
    settings = { DATABASE_URL }
    await sql`delete from api_key`
  })

  const hashes = async () => (await sql`select encode(hash, 'hex') as hash from api_key order by created`).map(({ hash }) => hash)

  test('a command for keys says what to do if the database lacks the last migrations', async () => {
    const DATABASE_URL = await createSingleMigrated()
    settings = { DATABASE_URL }
    const stderr =
      'roster: the database is of an earlier version: apply the migrations by roster migrate, or start a server on it\n'
    for (const words of [['list'], ['create', '--name', 'ci', '--rights', '*:read']])
      expect(await keys(...words)).toEqual({ code: 1, stdout: '', stderr })
  })

  describe('keys create', () => {
    test('D34: shows the key as the last line of stdout, and nowhere else', async () => {
      const made = await keysApart('create', '--name', 'ci', '--rights', 'companies:read,absences:WRITE', '--limits', '9/1m')
      const key = lastLine(made.stdout)
      expect(key).toMatch(new RegExp(`^${KEY.source}$`))
      expect(made).toMatchObject({ code: 0, stderr: '' })
      expect(made.stdout.split(key)).toHaveLength(2)
      expect(await hashes()).toEqual([hashKey(key).toString('hex')])
      const [row] = await sql`select id, name, rights, limits from api_key`
      expect(row).toEqual({ id: idOf(key), name: 'ci', rights: 'Companies:read,Absences:write', limits: '9/1m' })
      const { stdout } = await keys('list')
      expect(stdout).toContain(idOf(key))
      expect(stdout).not.toContain(key.slice(18))
      expect(stdout).not.toContain(hashKey(key).toString('hex'))
    })

    test('D99: refuses a name that could be the pseudonym of a person', async () => {
      const { code, stderr } = await create(`person-${'a'.repeat(22)}`)
      expect([code, stderr]).toEqual([1, expect.stringMatching(/^roster: a name that begins with person- could be a person’s/)])
      expect(await hashes()).toEqual([])
      expect((await create('persons')).code).toBe(0)
    })

    test('--json prints one value, with the key', async () => {
      const { code, stdout } = await create('ci', '--json')
      const value = JSON.parse(stdout)
      expect(Object.keys(value)).toEqual(['name', 'id', 'rights', 'role', 'limits', 'ends', 'key'])
      expect(value).toMatchObject({ name: 'ci', id: idOf(value.key), rights: 'Companies:read', limits: null })
      expect(await hashes()).toEqual([hashKey(value.key).toString('hex')])
      expect(code).toBe(0)
    })

    test('a name that exists is refused in one line with exit code 1, and no key is shown', async () => {
      await create('ci')
      const again = await create('ci')
      expect(again).toEqual({
        code: 1,
        stdout: '',
        stderr: 'roster: a key named "ci" exists already: rotate it, or revoke it first\n',
      })
    })

    test.each([
      [['--rights', '*:read'], "error: required option '--name <name>' not specified"],
      [['--name', 'ci'], "error: required option '--rights <list>', '--right <right>' or '--role <name>' not specified"],
      [['--name', 'ci', '--rights', 'Compnies:read'], 'names no entity. Did you mean Companies?'],
      [['--name', 'ci', '--rights', '*:read', '--limits', '9/1y'], '"9/1y" is not a limit like 750/1m'],
      ...['a\u0007', 'a\u202eb', '', ' ci', 'n'.repeat(101)].map(
        (name) => [['--name', name, '--rights', '*:read'], 'A name has 1 to 100 printable characters'] as [string[], string],
      ),
      [['--nme', 'ci'], '(Did you mean --name?)'],
      [['--name', 'ci', '--rights', '*:read', 'more'], 'too many arguments'],
    ])('fails with exit code 2: %j', async (words, message) => {
      const wrong = { code: 2, stdout: '', stderr: expect.stringContaining(message) }
      expect(await keys('create', ...words)).toEqual(wrong)
      expect(await hashes()).toEqual([])
    })
  })

  describe('keys list', () => {
    test('says if there are no keys, and prints an empty array as JSON', async () => {
      expect(await keys('list')).toEqual({ code: 0, stdout: 'There are no keys.\n', stderr: '' })
      expect(await keys('list', '--json')).toEqual({ code: 0, stdout: '[]\n', stderr: '' })
    })

    test('prints a line for each key, in aligned columns', async () => {
      await create('ci', '--limits', '100/1m')
      await create('a longer 名前')
      await keys('rotate', '--name', 'ci')
      await keys('revoke', '--name', 'a longer 名前')
      await sql`update api_key set last_used = timestamptz '2026-11-21T12:34:56Z' where name = 'ci'`
      const { stdout } = await keys('list')
      const [head = '', ...lines] = stdout.trimEnd().split('\n')
      expect(head.split(/ {2,}/)).toEqual(['NAME', 'ID', 'RIGHTS', 'LIMITS', 'CREATED', 'LAST USED', 'STATE'])
      const time = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ'
      const patterns = [
        `^a longer 名前 +\\w{10}  Companies:read  default +${time}  never +revoked ${time}$`,
        `^ci +\\w{10}  Companies:read  100/1m +${time}  2026-11-21T12:34:56Z  active$`,
        `^ci +\\w{10}  Companies:read  100/1m +${time}  2026-11-21T12:34:56Z  expires ${time}$`,
      ]
      // Without the columns that depend on the time at which a key was created.
      expect(lines).toHaveLength(3)
      for (const [index, pattern] of patterns.entries()) {
        const found = lines.filter((line) => new RegExp(pattern).test(line))
        expect([index, found.length]).toEqual([index, 1])
      }
      const columns = lines.map((line) => Bun.stringWidth(line.slice(0, line.indexOf('Companies:read'))))
      expect(new Set(columns).size).toBe(1)
    })

    test('--json prints the same keys', async () => {
      await create('ci')
      const [key, ...more] = JSON.parse((await keys('list', '--json')).stdout)
      expect(more).toEqual([])
      expect(Object.keys(key)).toEqual([
        'id',
        'name',
        'rights',
        'role',
        'limits',
        'created',
        'lastUsed',
        'expires',
        'ends',
        'revoked',
        'state',
        'fault',
      ])
      expect(key).toMatchObject({ name: 'ci', lastUsed: null, state: 'active' })
    })

    test('a long list arrives completely in a pipe, and a reader may close the pipe early', async () => {
      await sql`
        insert into api_key (id, name, hash, rights)
        select 'a' || lpad(n::text, 9, '0'), 'key ' || n, sha256(n::text::bytea), 'Companies:read'
        from generate_series(1, 4000) as n`
      expect((await keys('list')).stdout.split('\n')).toHaveLength(4_002)
      const program = run(['sh', '-c', `'${process.execPath}' --no-env-file src/main.ts keys list | head -1`], settings)
      await program.ended
      // The error message of the program can come before the output of head.
      expect(program.output()).toMatch(/^NAME/m)
    })
  })

  describe('keys revoke', () => {
    test('refuses an unknown name with exit code 1 and a suggestion', async () => {
      await create('deploy')
      expect(await keys('revoke', '--name', 'deplyo')).toEqual({
        code: 1,
        stdout: '',
        stderr: 'roster: there is no valid key named "deplyo". Did you mean deploy?\n',
      })
    })
  })

  describe('keys rotate', () => {
    test('shows the new key as the last line; the old key stays valid for a day', async () => {
      const old = lastLine((await create('ci')).stdout)
      const rotated = await keys('rotate', '--name', 'ci')
      const key = lastLine(rotated.stdout)
      expect(key).toMatch(new RegExp(`^${KEY.source}$`))
      expect(key).not.toBe(old)
      expect(rotated).toMatchObject({ code: 0, stderr: '' })
      expect(await hashes()).toEqual([old, key].map((text) => hashKey(text).toString('hex')))
      const [row] = await sql`select expires - created as overlap, revoked from api_key where id = ${idOf(old)}`
      expect(row?.overlap).toMatch(/^(1 day|24:0\d:|23:59:)/)
      expect(row?.revoked).toBeNull()
    })

    test('--overlap "0" ends the old key immediately, and --json prints both keys', async () => {
      const old = lastLine((await create('ci')).stdout)
      const { stdout } = await keys('rotate', '--name', 'ci', '--overlap', '0', '--json')
      const value = JSON.parse(stdout)
      expect(Object.keys(value)).toEqual(['name', 'id', 'rights', 'role', 'limits', 'ends', 'replaced', 'key'])
      expect(value).toMatchObject({ id: idOf(value.key), replaced: { id: idOf(old), expires: null } })
    })

    test('fails as wrong usage if the overlap is invalid or too long', async () => {
      const stderr = expect.stringContaining('An overlap is 0, or like 24h (s, m, h, d), up to 30d.')
      for (const overlap of ['31d', '721h', '1', '-1h', '1.5h', 'soon', '1w'])
        expect(await keys('rotate', '--name', 'ci', `--overlap=${overlap}`)).toMatchObject({ code: 2, stderr })
    })
  })

  test('the help of roster keys lists the commands, each with an example and the option --json', async () => {
    const { stdout: all } = await keys('--help')
    for (const command of ['create', 'change', 'list', 'revoke', 'rotate', 'try']) {
      expect(all).toContain(`  ${command} [options]`)
      const { code, stdout } = await keys(command, '--help')
      expect([code, stdout]).toEqual([0, expect.stringContaining(`npm run --silent roster -- keys ${command}`)])
      expect(stdout).toContain('--json')
    }
    expect((await keys()).code).toBe(2)
    expect(await keys('crate')).toMatchObject({ code: 2, stderr: expect.stringContaining('(Did you mean create?)') })
  })
})

describe('keys create without a database', () => {
  test.each([
    ['postgres://someone:hunter2@127.0.0.1:9/nowhere', 'the database cannot be used: .+'],
    ['postgres://someone:hunter2@@127.0.0.1:x/nowhere', 'DATABASE_URL must be an address .+'],
    ['postgres://someone:hunt%er2@127.0.0.1:9/nowhere', '.+'],
  ])('reports in one line, without the password, that %s cannot be used, with exit code 1', async (address, reason) => {
    settings = { DATABASE_URL: address }
    const { code, stdout, stderr } = await create('ci')
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(new RegExp(`^roster: ${reason}\n$`))
    expect(stderr).not.toMatch(/hunt/)
  })
})

test('keys create creates the tables of an empty database; the other commands for keys do not', async () => {
  settings = { DATABASE_URL: await createDatabase('empty') }
  expect(await keys('list')).toMatchObject({ code: 1, stderr: expect.stringContaining('has no tables of Roster') })
  expect((await create('ci')).code).toBe(0)
  expect(JSON.parse((await keys('list', '--json')).stdout)).toHaveLength(1)
})

describe('keys in the embedded PostgreSQL', () => {
  let folder: ReturnType<typeof temporaryFolder>
  beforeEach(() => {
    folder = temporaryFolder()
    settings = { DATA_DIR: folder.path }
  })

  test('a command for keys uses the PostgreSQL that a running server has started', async () => {
    copyCluster(folder.path)
    const server = await startEmbedded({ dataDir: folder.path })
    try {
      const key = lastLine((await create('ci')).stdout)
      const sql = connect(server.url)
      const [row] = await sql`select encode(hash, 'hex') as hash from api_key`
      await sql.end()
      expect(row?.hash).toBe(hashKey(key).toString('hex'))
      expect((await keys('revoke', '--name', 'ci')).code).toBe(0)
    } finally {
      await server.stop()
    }
  })

  test('commands for keys without a server start PostgreSQL one after the other, and stop it', async () => {
    const made = await Promise.all(['a', 'b'].map((name) => keysApart('create', '--name', name, '--rights', '*:read')))
    for (const one of made) expect(one).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse((await keys('list', '--json')).stdout)).toHaveLength(2)
    expect(existsSync(join(folder.path, 'postgres/PG_VERSION'))).toBe(true)
    expect(postmasterOf(folder.path)).toBeNull()
  })

  test('a command for keys waits for a PostgreSQL that is being started', async () => {
    copyCluster(folder.path)
    const starting = startEmbedded({ dataDir: folder.path })
    const made = create('ci')
    const server = await starting
    expect(await made).toMatchObject({ code: 0, stderr: '' })
    await server.stop()
  })
})
