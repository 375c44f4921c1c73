import { beforeEach, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { declaredCompanies } from '../support/declaredCompanies.ts'
import { temporaryFolder } from '../support/process.ts'
import { KEY, makeKey } from '../support/server.ts'
import { startServer, useServer } from '../support/start.ts'
import { filesIn, roster as rosterApart, rosterHere } from './roster.ts'

/** Key with a limit of 10 requests in a second; a request with 1,000 rows counts as 10. */
const slow = makeKey({ name: 'slow', limits: '10/1s' })
const small = makeKey({ name: 'small', limits: '2/1h' })
const reader = makeKey({ name: 'reader', rights: '*:read' })
const folder = temporaryFolder()

const keys = [slow, small, reader].map(({ record }) => record)
const server = useServer({ keys, environment: { RATE_LIMIT_CLIENTS: '9' } })
beforeEach(async () => {
  await server.sql`truncate company, employee, absence, idempotency_key restart identity cascade`
})

const fileOf = filesIn(folder.path)
/** Runs a command in this process, or in a new one if it needs stdin. */
function roster(words: readonly string[], { key = KEY as string | null, stdin = '', url = server.url } = {}) {
  const settings = key === null ? undefined : { ROSTER_KEY: key }
  return stdin === '' ? rosterHere([...words, '--url', url], settings) : rosterApart([...words, '--url', url], settings, stdin)
}

async function passOn(request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url)
  const body = request.method === 'GET' ? null : await request.bytes()
  const init = { method: request.method, headers: request.headers, body }
  const answer = await fetch(server.url + pathname + search, { ...init, decompress: false })
  return new Response(await answer.bytes(), answer)
}

/** Starts a proxy for the server; `first` answers the first write. */
function proxyWith(first: (request: Request) => Response | Promise<Response>) {
  let asked = 0
  const fetch = (request: Request) => (request.method === 'POST' && asked++ === 0 ? first(request) : passOn(request))
  return Bun.serve({ port: 0, hostname: '127.0.0.1', fetch })
}

const namesOf = async () => (await server.sql`select name from company order by id`).map(({ name }) => name)

describe('roster import', () => {
  test.each(['csv', 'ndjson'])('D91: an exported %s with related properties is imported without these', async (format) => {
    await server.post('/Companies', { name: 'Acme' })
    await server.post('/Employees', { lastName: 'A', companyId: 1 })
    await server.post('/Absences', { employeeId: 1, reason: 'Flu' })
    await server.sql`update absence set period_days = 1234567890.12345678`
    const fields = 'Id,EmployeeId,Reason,Period.Days,EmployeeId.LastName,EmployeeId.CompanyId.Name'
    const filter = 'EmployeeId.CompanyId.Name=Acme'
    const exported = await roster(['export', 'absences', '--format', format, '--fields', fields, '--filter', filter])
    expect(exported.stdout).toContain('employeeId.companyId.name')
    const imported = await roster(['import', 'absences', fileOf(exported.stdout, format), '--again'])
    expect(imported).toMatchObject({ code: 0, stdout: '1 row of Absences was created.\n' })
    expect(imported.stderr).toContain(
      'roster: left out, since they are properties of other rows: employeeId.lastName, employeeId.companyId.name\n',
    )
    const [first, second] = await server.sql`select employee_id, reason, period_days from absence order by id`
    expect(second).toEqual(first)
  })

  test('D91: a misspelled related property in the header of a CSV is reported with the nearest name', async () => {
    const { code, stderr } = await roster(['import', 'absences', fileOf('reason,employeeId.departmant\nFlu,Sales\n')])
    expect(code).toBe(1)
    expect(stderr).toContain('Employees have no property "departmant". Did you mean Department?')
  })

  test('the import of an exported file creates the same rows with new ids', async () => {
    await server.post('/Companies', [{ name: 'Ümläut, "Größe"' }, { name: 'two\nlines', enabled: true }])
    await server.post('/Employees', [{ lastName: 'A', companyId: 2, started: '2026-01-31T09:00:00+02:00' }, { lastName: '' }])
    const absences = [{ employeeId: 1, period: { days: 2.5, hours: 0.00000001 }, reason: ' x ' }, {}]
    await server.post('/Absences', absences)
    for (const [plural, table] of [
      ['companies', 'company'],
      ['employees', 'employee'],
      ['absences', 'absence'],
    ] as const) {
      const exported = await roster(['export', plural])
      const imported = await roster(['import', plural, fileOf(exported.stdout), '--again'])
      expect(imported).toMatchObject({
        code: 0,
        stdout: `2 rows of ${plural[0]?.toUpperCase()}${plural.slice(1)} were created.\n`,
      })
      expect(imported.stderr).toContain('roster: left out, since the server makes them: id')
      const rows = await server.sql`select to_jsonb(t) - 'id' as row from ${server.sql(table)} as t order by id`
      expect(rows.slice(2)).toEqual(rows.slice(0, 2))
    }
  })

  // Texts that a format of an export could read as something else.
  const hostile = ['=1+1', "'=1+1", "''@x", '+31 6 1', "a;'=1", 'a\n- b\r\n', '\t=x', '＝1', "'", '\ufeff', ' "', '', null]
  test.each([
    ['csv', [], ['--no-excel']],
    ['csv', ['--excel'], ['--excel']],
    ['ndjson', ['--format', 'ndjson'], []],
  ] as const)('a %s file of `export %j` creates the same rows by `import %j`', async (end, exporting, importing) => {
    await server.post(
      '/Companies',
      hostile.map((name) => ({ name })),
    )
    await server.post('/Absences', [{ start: '2026-01-31T09:00:00+02:00', reason: '=1', period: { days: 2.5 } }, {}])
    for (const [plural, table, rows] of [
      ['companies', 'company', hostile.length],
      ['absences', 'absence', 2],
    ] as const) {
      const { stdout } = await roster(['export', plural, ...exporting])
      expect((await roster(['import', plural, fileOf(stdout, end), ...importing, '--again'])).code).toBe(0)
      const all = await server.sql`select to_jsonb(t) - 'id' as row from ${server.sql(table)} as t order by id`
      expect(all.slice(rows, 2 * rows)).toEqual(all.slice(0, rows))
    }
  })

  test('a file of export --excel is refused with the line at fault, unless --excel or --no-excel says how to read it', async () => {
    await server.post('/Absences', [{ reason: '+31 6 1' }, { start: '2026-01-31T09:00:00Z' }])
    const path = fileOf((await roster(['export', 'absences', '--excel'])).stdout)
    expect((await roster(['import', 'absences', path])).stderr).toContain(
      ', line 2: reason is as export --excel writes it: give --excel to read it so, or --no-excel to take it as it stands.',
    )
    const texts = fileOf((await roster(['export', 'absences'])).stdout.replace('+31', "'+31"))
    expect((await roster(['import', 'absences', texts])).stderr).toContain(', line 2: reason is as export --excel')
    const dates = fileOf('start\n2026-01-31 09:00:00\n')
    expect((await roster(['import', 'absences', dates])).stderr).toContain(', line 2: start is as export --excel')
    expect((await roster(['import', 'absences', dates, '--no-excel'])).stderr).toContain('Start must be a date-time')
    expect((await roster(['import', 'absences', dates, '--excel'])).code).toBe(0)
  })

  test('messages of an import replace control characters in names of columns by question marks', async () => {
    const { stderr } = await roster(['import', 'companies', fileOf('name,\x1b[2J\x9b1mx\r\nA,B\n')])
    expect(stderr).toContain('Companies have no property "?[2J?1mx".')
  })

  test('empty columns and empty cells at the ends of lines of a CSV are ignored', async () => {
    expect((await roster(['import', 'companies', fileOf('name,enabled,,\nA,true,,\nB,,\nC,false,,,,\n')])).code).toBe(0)
    expect(await namesOf()).toEqual(['A', 'B', 'C'])
    const more = await roster(['import', 'companies', fileOf('name,enabled,,\nA,true,,x\n')])
    expect(more.stderr).toContain(', line 1: Column 4 has values, and no name in the header: --column 4= leaves it out.')
  })

  test('a CSV is imported as spreadsheets write it: with semicolons, TRUE, a byte order mark and any line ends', async () => {
    const csv = `\ufeffName;ENABLED\r\nA;TRUE\n\nB;\r"C; D";false`
    expect((await roster(['import', 'Companies', fileOf(csv)])).code).toBe(0)
    expect(await server.sql`select name, enabled from company order by id`).toEqual([
      { name: 'A', enabled: true },
      { name: 'B', enabled: false },
      { name: 'C; D', enabled: false },
    ] as never)
  })

  test('an NDJSON file with blank lines and without a final line break is imported', async () => {
    const path = fileOf('{"name":"A"}\r\n\n \r\n{"Name":"B"}', 'ndjson')
    expect((await roster(['import', 'companies', path])).stdout).toBe('2 rows of Companies were created.\n')
    expect(await namesOf()).toEqual(['A', 'B'])
  })

  test('stdin is imported in several requests, and importing it again creates no row twice', async () => {
    const rows = Array.from({ length: 25 }, (_, index) => `Name ${index}`)
    const words = ['import', 'companies', '-', '--format', 'csv', '--piece', '10']
    const stdin = `name\n${rows.join('\n')}\n`
    const first = await roster(words, { stdin })
    expect([first.code, first.stdout, await namesOf()]).toEqual([0, '25 rows of Companies were created.\n', rows])
    const second = await roster(words, { stdin })
    const said = '25 rows of Companies were created, 25 of them by an earlier run over this file.\n'
    expect([second.code, second.stdout, await namesOf()]).toEqual([0, said, rows])
  })

  test('an import from a pipe stops at a fault, and reports the rows that were imported before', async () => {
    const words = ['import', 'companies', '-', '--format', 'csv', '--piece', '2']
    const { code, stderr } = await roster(words, { stdin: 'name\nA\nB\nC\nD\n"E\n' })
    expect(code).toBe(1)
    expect(stderr).toContain('roster: stdin, line 6: the quote that ends a text is missing.\n')
    expect(stderr).toContain('roster: 2 rows were imported, up to line 3, and none after it.')
    expect(await namesOf()).toEqual(['A', 'B'])
  })

  test('a repeated import under another host name of the same server creates no row twice', async () => {
    const path = fileOf('name\nA\n')
    await roster(['import', 'companies', path])
    const { stdout } = await roster(['import', 'companies', path], {
      url: server.url.replace('127.0.0.1', 'localhost'),
    })
    expect(stdout).toBe('1 row of Companies was created, 1 of them by an earlier run over this file.\n')
    expect(await namesOf()).toEqual(['A'])
  })

  test('a response that is not from Roster fails the import, after a wait of 1 s if its status is 429', async () => {
    let asked = 0
    const other = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch() {
        if (asked++ > 0) return new Response('<html>welcome</html>')
        return new Response('later', { status: 429, headers: { 'Retry-After': 'Mon, 23 Nov 2026 07:00:00 GMT' } })
      },
    })
    const words = ['import', 'companies', fileOf('name\nA\n'), '--again']
    const { code, stderr } = await roster(words, { url: other.url.href })
    await other.stop(true)
    expect([code, asked]).toEqual([1, 2])
    expect(stderr).toContain('roster: waits 1 s: the server answered with status 429, but not as Roster does')
    expect(stderr).toContain('roster: the address is not that of a collection of a Roster\n')
    expect(stderr).toContain('roster: No row was imported, but those of line 2 to line 2 may have been.')
  })

  test('a dry run of an import reports every fault by its line, and creates nothing', async () => {
    const csv = 'lastName,companyId,started\n"two\r\nlines",,\nB,seven,\n"x\n\ny",99,\nD,,yesterday\n'
    const path = fileOf(csv)
    const { code, stdout, stderr } = await roster(['import', 'employees', path, '--dry-run', '--piece', '2'])
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr.split('\n').filter((line) => line.startsWith('roster:'))).toEqual([
      `roster: ${path}, line 4: CompanyId must be an integer, or null. It is "seven".`,
      `roster: ${path}, line 5: CompanyId names no Company: there is none with id 99.`,
      expect.stringMatching(/rows\d+\.csv, line 8: Started must be .* It is "yesterday"\.$/),
      'roster: Nothing was created: it was a dry run.',
    ])
    expect((await server.sql`select from employee`).count).toBe(0)
    const right = await roster(['import', 'employees', fileOf('lastName\nA\nB\n'), '--dry-run'])
    expect([right.code, right.stdout]).toEqual([0, '2 rows of Employees are right; nothing was created.\n'])
    expect((await server.sql`select from employee`).count).toBe(0)
  })

  test('an import stops at the first refused request, reports the imported rows, and continues there when it is repeated', async () => {
    const csv = 'lastName,companyId\nA,\nB,\nC,77\nD,\n'
    const path = fileOf(csv)
    const words = ['import', 'employees', path, '--piece', '2']
    const { code, stderr } = await roster(words)
    expect(code).toBe(1)
    expect(stderr).toContain(`roster: ${path}, line 4: CompanyId names no Company: there is none with id 77.\n`)
    expect(stderr).toContain('roster: 2 rows were imported, up to line 3, and none after it.')
    writeFileSync(path, csv.replace('77', ''))
    expect((await roster(words)).stdout).toBe('4 rows of Employees were created, 2 of them by an earlier run over this file.\n')
    expect((await server.sql`select from employee`).count).toBe(4)
  })

  test('an import waits for its rate limit until all rows are created', async () => {
    const path = fileOf(`name\n${'x\n'.repeat(1_500)}`)
    const { code, stdout } = await roster(['import', 'companies', path], { key: slow.text })
    expect({ code, stdout }).toEqual({ code: 0, stdout: '1500 rows of Companies were created.\n' })
    expect((await server.sql`select from company`).count).toBe(1_500)
  })

  test('an import waits as long as Retry-After says, and then still reports the rows of an earlier run', async () => {
    const path = fileOf('name\nA\nB\n')
    for (const earlier of ['', ', 2 of them by an earlier run over this file']) {
      const limit = '{"Error":{"Message":"The limit is reached."}}'
      const proxy = proxyWith(() => new Response(limit, { status: 429, headers: { 'Retry-After': '1' } }))
      const { code, stdout, stderr } = await roster(['import', 'companies', path], { url: proxy.url.href })
      await proxy.stop(true)
      expect({ code, stdout }).toEqual({ code: 0, stdout: `2 rows of Companies were created${earlier}.\n` })
      expect(stderr).toContain('roster: waits 1 s: The limit is reached.\n')
    }
    expect(await namesOf()).toEqual(['A', 'B'])
  })

  test('an import fails without a retry if the server answers TooCostly', async () => {
    const costly = JSON.stringify({ Error: { Code: 'TooCostly', Message: 'The list costs too much.' } })
    const proxy = proxyWith(() => new Response(costly, { status: 503 }))
    const { code, stderr } = await roster(['import', 'companies', fileOf('name\nA\n')], { url: proxy.url.href })
    await proxy.stop(true)
    expect([code, stderr]).toEqual([1, expect.stringContaining('The list costs too much.')])
  })

  test('an import fails immediately if no server can be reached', async () => {
    const gone = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('') })
    const url = gone.url.href
    await gone.stop(true)
    const { code, stderr } = await roster(['import', 'companies', fileOf('name\nA\n')], { url })
    expect([code, stderr]).toEqual([1, expect.stringContaining(`roster: ${url}Companies cannot be reached: `)])
    expect(stderr).toContain('roster: No row was imported.')
    expect(stderr).not.toContain('waits')
  })

  test.each([
    [
      'name\nA\nB\n',
      'roster: the server answered with status 413, but not as Roster does\nroster: Smaller pieces may be taken: --piece 100.\n',
    ],
    ['name\nA\n', 'roster: the server answered with status 413, but not as Roster does\nroster: No row was imported.\n'],
  ])('importing %j through a proxy that answers 413 fails, with advice if it has several rows', async (csv, message) => {
    const proxy = proxyWith(() => new Response('<html>Request Entity Too Large</html>', { status: 413 }))
    const { code, stderr } = await roster(['import', 'companies', fileOf(csv)], { url: proxy.url.href })
    await proxy.stop(true)
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)])
  })

  test('a request whose response is lost is sent again, and its rows are created once', async () => {
    const lossy = proxyWith(async (request) => {
      await passOn(request)
      return new Response('lost', { status: 503, headers: { 'Retry-After': '1' } })
    })
    const url = lossy.url.href
    const { code, stdout, stderr } = await roster(['import', 'companies', fileOf('name\nA\nB\n')], { url })
    await lossy.stop(true)
    expect({ code, stdout }).toEqual({ code: 0, stdout: '2 rows of Companies were created.\n' })
    expect(stderr).toContain('roster: waits 1 s: the server answered with status 503')
    expect(await namesOf()).toEqual(['A', 'B'])
  })

  test.each([
    [['companies', fileOf('Nmae\nx\n')], KEY, ', line 1: Companies have no property "Nmae". Did you mean name?'],
    [
      ['absences', fileOf('period\nx\n')],
      KEY,
      ', line 1: period is an object; its parts have columns of their own: period.prefered',
    ],
    [
      ['companies', fileOf('name,Name\nx,y\n')],
      KEY,
      ', line 1: Name is there twice, in columns 1 and 2: --column 2= leaves out the second.',
    ],
    [['companies', fileOf('name\n"a\nb"\n"c')], KEY, ', line 4: the quote that ends a text is missing.'],
    [['companies', fileOf('name\na "b"\n')], KEY, ', line 2: a text with a quote in it stands in quotes'],
    [['companies', fileOf('name,enabled\nx\n')], KEY, ', line 2: The row has 1 value, and the header 2 names.'],
    [['companies', fileOf('id\n1\n')], KEY, ', line 1: none of these columns is one that clients write.'],
    [
      ['companies', fileOf('name,,enabled\nx,,\ny,z,\n')],
      KEY,
      ', line 1: Column 2 has values, and no name in the header: --column 2= leaves it out.',
    ],
    [['companies', fileOf('"x"\n', 'ndjson')], KEY, ', line 1: The row must be an object.'],
    [['companies', fileOf('')], KEY, ', line 1: there must be a header'],
    [
      ['companies', fileOf(new Uint8Array([0x6e, 0x81]))],
      KEY,
      'cannot be read: its encoding is not known: name it by --encoding',
    ],
    [['companies', fileOf('[{"name": 1},', 'json')], KEY, "make NDJSON of the array: jq -c '.[]' "],
    [['companies', fileOf('{"name":"A"}\n{"name":"B"', 'ndjson')], KEY, ", line 2: it is not JSON: Expected '}'."],
    [['companies', '/nowhere/x.csv'], KEY, 'cannot be read: '],
    [['companies', '-'], KEY, 'stdin may be a CSV, NDJSON or .xlsx: say which'],
    [['compnies', fileOf('name\n')], KEY, 'there is no entity "compnies". Did you mean companies?'],
    [['companies', fileOf('name\nx\n')], null, 'ROSTER_KEY is not set: it is the key to write with'],
    [['companies', fileOf('name\nx\n')], reader.text, 'The key does not have the right Companies:write.'],
    [['companies', fileOf(`name\n${'x\n'.repeat(201)}`)], small.text, 'The body counts as 3 requests, and you may send 2 per 1h'],
  ])('roster import with the arguments %p fails, and says what is wrong', async (words, key, message) => {
    const { code, stderr } = await roster(['import', ...words], { key })
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(message) })
    expect((await server.sql`select from company`).count).toBe(0)
  })
})

test('two rows of a file with the same unique value are refused, and the message names both lines', async () => {
  const own = await startServer({ entitiesDir: declaredCompanies().path })
  await own.sql`alter table company add constraint company_name_unique unique (name)`
  const path = fileOf('name,enabled\n"x\ny",true\nA,true\nB,true\nA,false\n')
  const { code, stderr } = await roster(['import', 'companies', path], { url: own.url })
  await own.stop()
  expect([code, stderr.split('\n').slice(-3)[0]]).toEqual([
    1,
    `roster: ${path}, line 6: Name is not free: line 4 has this value. It is "A".`,
  ])
})
