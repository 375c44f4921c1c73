import { beforeEach, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { temporaryFolder } from '../support/process.ts'
import { KEY, makeKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'
import { filesIn, roster as rosterApart, rosterHere } from './roster.ts'

const few = makeKey({ name: 'few', limits: '5/1s' })
const folder = temporaryFolder()
const server = useServer({ keys: [few.record], environment: { RATE_LIMIT_CLIENTS: '9' } })
beforeEach(async () => {
  await server.sql`truncate company, employee, absence, idempotency_key restart identity cascade`
})

const fileOf = filesIn(folder.path)
/** Files as spreadsheets of several languages save them. */
const sample = (name: string) => join(import.meta.dir, 'files', name)
const roster = (words: readonly string[], key = KEY) => rosterHere([...words, '--url', server.url], { ROSTER_KEY: key })
const importOf = (entity: string, file: string, ...options: readonly string[]) => roster(['import', entity, file, ...options])

const companies = () => server.post('/Companies', [{ name: 'Blaue Mond GmbH' }, { name: 'Größe & Söhne' }])
const people = () => server.sql`
  select employee_number as number, first_name, last_name, company, started::text, job_level as level from employee order by id`
const absences = () => server.sql`
  select employee, type, start::text, "end"::text, period_days::text as days, period_hours::text as hours from absence order by id`

const GERMAN = ['--column', 'Personalnummer=EmployeeNumber', '--column', 'Vorname=FirstName', '--column', 'Nachname=LastName']
const GERMAN_LINKS = ['--column', 'Firma=Company', '--lookup', 'Company=Name', '--column', 'Eintritt=Started']

describe('roster import of files as spreadsheets and people write them:', () => {
  test('a German CSV is imported by the second attempt, after the first one has listed the options for its columns', async () => {
    await companies()
    const first = await importOf('employees', sample('german.csv'))
    expect(first.code).toBe(1)
    expect(first.stderr).toContain(
      'german.csv is not UTF-8; it is read as windows-1252 (line 2: Jürgen). Another one: --encoding',
    )
    expect(first.stderr).toContain(
      'line 1: Employees have no properties "Personalnummer", "Vorname", "Nachname", "Firma", "Eintritt", "Bemerkung".',
    )
    expect(first.stderr).toContain(
      'Probably EmployeeNumber, FirstName, LastName, Company and Started: --column Personalnummer=EmployeeNumber --column Vorname=FirstName --column Nachname=LastName --column Firma=Company --lookup Company=Name --column Eintritt=Started\n',
    )
    expect(first.stderr).toContain('or nothing to leave the column out: --column Bemerkung=\n')
    expect(first.stderr).toContain('Days of Eintritt: --locale de reads 01.09.2026 as 2026-09-01.')
    const options = [...GERMAN, ...GERMAN_LINKS, '--column', 'Bemerkung=', '--locale', 'de']
    const second = await importOf('employees', sample('german.csv'), ...options)
    expect([second.code, second.stdout]).toEqual([0, '3 rows of Employees were created.\n'])
    expect(await people()).toMatchObject([
      { number: '00017', first_name: 'Jürgen', company: 'Blaue Mond GmbH', started: '2026-09-01 00:00:00+00' },
      { number: '00018', last_name: 'Weiß', company: 'Größe & Söhne' },
      { number: '00019', last_name: 'Öztürk', company: 'Blaue Mond GmbH', started: '2026-11-03 00:00:00+00' },
    ])
  })

  test('a German .xlsx is imported with leading zeros and with dates as days or texts; messages name rows of the sheet', async () => {
    await companies()
    const options = [...GERMAN, ...GERMAN_LINKS, '--column', 'Stufe=JobLevel']
    const wrong = await importOf('employees', sample('german.xlsx'), ...options)
    expect(wrong.stderr).toContain(
      'german.xlsx, row 3: Started must be a date-time like 2024-01-31T09:00:00Z. It is "15.10.2026"; --locale de reads 15.10.2026 as 2026-10-15.',
    )
    const right = await importOf('employees', sample('german.xlsx'), ...options, '--locale', 'de')
    expect([right.code, right.stdout]).toEqual([0, '3 rows of Employees were created.\n'])
    expect(await people()).toMatchObject([
      { number: '00017', last_name: 'Müller & <Söhne>', started: '2026-09-01 00:00:00+00', level: '3' },
      { number: '00018', company: 'Größe & Söhne', started: '2026-10-15 00:00:00+00', level: 'L4' },
      { number: '00019', first_name: '😀', started: '2026-11-03 09:30:00+00', level: '5' },
    ])
  })

  test('a named sheet of an .xlsx is imported, and employees are looked up by their numbers', async () => {
    await server.post('/Employees', [{ employeeNumber: '00017' }, { employeeNumber: '00018', lastName: 'B' }])
    const several = await importOf('companies', sample('sheets.xlsx'))
    expect(several.stderr).toContain(
      'it has several sheets: name one of them by --sheet: "Firmen" (Name, Enabled); "Abwesenheiten" (',
    )
    expect(several.stderr).toContain('--sheet Abwesenheiten, row 1: Companies have no properties "Mitarbeiter",')
    expect(several.stderr).not.toContain('--sheet Firmen')
    expect((await importOf('companies', sample('sheets.xlsx'), '--sheet', 'firmen')).stdout).toBe(
      '2 rows of Companies were created.\n',
    )
    expect(await server.sql`select name, enabled from company order by id`).toMatchObject([
      { name: 'Blaue Mond GmbH', enabled: true },
      { name: 'Größe & Söhne', enabled: false },
    ])
    const columns = ['--column', 'Mitarbeiter=EmployeeId', '--column', 'Tage=Period.Days', '--column', 'Von=Start']
    const lookup = ['--lookup', 'EmployeeId=EmployeeNumber']
    const done = await importOf('absences', sample('sheets.xlsx'), '--sheet', 'Abwesenheiten', ...columns, ...lookup)
    expect([done.code, done.stdout]).toEqual([0, '2 rows of Absences were created.\n'])
    expect(await absences()).toMatchObject([
      { employee: null, start: '2026-09-01 00:00:00+00', days: '2.50000000' },
      { employee: 'B', start: '2026-12-24 00:00:00+00', days: '0.10000000' },
    ])
  })

  test('an .xlsx with errors of formulas is refused only if these are in columns that are imported', async () => {
    const read = await importOf('employees', sample('errors.xlsx'), '--column', 'Alter=JobLevel')
    expect(read.stderr).toContain('errors.xlsx, rows 2 and 3: JobLevel is the error of a formula. All are "#DIV/0!".')
    expect((await importOf('employees', sample('errors.xlsx'), '--column', 'Alter=')).stdout).toBe(
      '2 rows of Employees were created.\n',
    )
  })

  test('a French CSV with a byte order mark is imported with its booleans', async () => {
    const options = ['--column', 'Nom=Name', '--column', 'Actif=Enabled']
    const wrong = await importOf('companies', sample('french.csv'), ...options)
    expect(wrong.stderr).toContain(
      'french.csv, lines 2, 3 and 4: Enabled must be true or false. They are "VRAI", "FAUX", "OUI"; --locale fr reads VRAI as true.',
    )
    expect((await importOf('companies', sample('french.csv'), ...options, '--locale', 'fr')).code).toBe(0)
    expect(await server.sql`select name, enabled from company order by id`).toMatchObject([
      { name: 'Société Générale', enabled: true },
      { name: 'Crédit "Bleu"', enabled: false },
      { name: 'L’Œuvre', enabled: true },
    ])
  })

  test('a Dutch CSV of absences is imported with hyphens in dates, decimal commas, and people by their numbers', async () => {
    await server.post('/Employees', [
      { employeeNumber: 'E1', lastName: 'A' },
      { employeeNumber: 'E2', lastName: 'B' },
    ])
    const columns = ['Werknemer=EmployeeId', 'Soort=Type', 'Van=Start', 'Tot=End', 'Dagen=Period.Days']
    const options = [
      ...columns.flatMap((column) => ['--column', column]),
      '--lookup',
      'EmployeeId=EmployeeNumber',
      '--locale',
      'nl',
    ]
    expect((await importOf('absences', sample('dutch.csv'), ...options)).code).toBe(0)
    expect(await absences()).toMatchObject([
      // The last day counts.
      { employee: 'A', type: 'Vakantie', start: '2026-09-01 00:00:00+00', end: '2026-09-04 23:59:00+00', days: '3.50000000' },
      { employee: 'B', type: 'Ziek', start: '2026-10-12 00:00:00+00', end: '2026-10-12 23:59:00+00', days: '1.00000000' },
    ])
  })

  test('a Swiss CSV with the labels of /explore is imported with grouped digits, decimal points and times', async () => {
    await server.post('/Employees', [{ employeeNumber: 'E1', lastName: 'A' }, { employeeNumber: 'E2' }])
    const options = ['--column', 'Employee number=EmployeeId', '--lookup', 'EmployeeId=EmployeeNumber', '--locale', 'de-CH']
    expect((await importOf('absences', sample('swiss.csv'), ...options)).code).toBe(0)
    expect(await absences()).toMatchObject([
      { start: '2026-09-01 00:00:00+00', days: '22.00000000', hours: '1234.50000000' },
      { start: '2026-10-01 08:00:00+00', end: '2026-10-01 17:30:00+00', hours: '8.40000000' },
    ])
  })

  test('an end without a time is imported as 23:59, so that an absence can begin and end on the same day', async () => {
    const lines = ['start,end', '2026-12-03T09:00:00Z,2026-12-03', '2026-12-03,2026-12-03T00:00:00Z']
    const { code, stderr } = await importOf('absences', fileOf(`${lines.join('\n')}\n`))
    expect([code, stderr.split('\n').slice(0, 2)]).toEqual([
      0,
      [
        'roster: days of end are taken for date-times, at 23:59 UTC',
        'roster: days of start are taken for date-times, at midnight UTC',
      ],
    ])
    expect(await absences()).toMatchObject([
      { start: '2026-12-03 09:00:00+00', end: '2026-12-03 23:59:00+00' },
      { start: '2026-12-03 00:00:00+00', end: '2026-12-03 00:00:00+00' },
    ])
  })

  test('an American CSV is imported with spaces in headers, months before days, and 12-hour times', async () => {
    const wrong = await importOf('employees', sample('us.csv'))
    expect(wrong.stderr).toContain('us.csv is not UTF-8; it is read as windows-1252 (line 2: O’Neil)')
    expect(wrong.stderr).toContain('--locale en-US reads 8/31/2026 as 2026-08-31')
    expect((await importOf('employees', sample('us.csv'), '--locale', 'en-US')).code).toBe(0)
    expect(await people()).toMatchObject([
      { number: 'E1', first_name: 'Smith, Jr.', last_name: 'O’Neil', started: '2026-08-31 00:00:00+00' },
      { number: 'E2', started: '2026-12-01 17:30:00+00' },
    ])
  })

  test('a text in UTF-16, as Excel saves "Unicode Text", is imported', async () => {
    const { code, stderr } = await importOf('employees', sample('unicode.txt'))
    expect([code, stderr]).toEqual([0, expect.stringContaining('it is read as utf-16le (line 2: Łukasz)')])
    expect(await people()).toMatchObject([{ last_name: 'Łukasz' }, { last_name: 'Ζωή' }])
  })

  test('the option --encoding determines the encoding, and a wrong or unknown one is refused', async () => {
    const polish = Uint8Array.of(...Buffer.from('name\n'), 0xb3)
    expect((await importOf('companies', fileOf(polish), '--encoding', 'windows-1250')).code).toBe(0)
    expect(await server.sql`select name from company`).toMatchObject([{ name: 'ł' }])
    const wrong = await importOf('companies', fileOf(polish), '--encoding', 'utf-8')
    expect(wrong.stderr).toContain('cannot be read: it is not UTF-8; its encoding is not known: name it by --encoding')
    expect((await importOf('companies', fileOf(polish), '--encoding', 'utf-7')).stderr).toContain(
      '"utf-7" is no encoding, as utf-8',
    )
  })

  test('the separator is the one that the header has most often, and a quoted title with commas is one column', async () => {
    expect((await importOf('companies', fileOf('name;enabled;"a, b, c"\nA;true;x\n'), '--column', 'a, b, c=')).code).toBe(0)
    expect(await server.sql`select name, enabled from company`).toMatchObject([{ name: 'A', enabled: true }])
  })

  test('a title above the header is ignored, and columns without names and values are left out', async () => {
    const csv = 'Companies of 2026;;;\n;;;\n;name;;enabled\n;A;;true\n;B;;\n'
    const { stdout, stderr } = await importOf('companies', fileOf(csv))
    expect(stdout).toBe('2 rows of Companies were created.\n')
    expect(stderr).toContain('the names of the columns are in line 3, below 1 line that is not read. Another one: --header')
    expect(await server.sql`select name, enabled from company order by id`).toMatchObject([
      { name: 'A', enabled: true },
      { name: 'B' },
    ])
    const late = await importOf('companies', fileOf(csv), '--header', '9')
    expect(late.stderr).toContain('there must be a header with the names of properties')
  })

  test('a year of two digits is refused with a message that asks for four', async () => {
    const { stderr } = await importOf('employees', fileOf('lastName;started\nA;01.09.26\n'), '--locale', 'de')
    expect(stderr).toContain('It is "01.09.26"; a year needs four digits.')
  })

  test('2,000 equal faults are reported as one, with their number and the first lines and values', async () => {
    const lines = Array.from({ length: 2_000 }, (_, index) => `N${index};0${(index % 9) + 1}.09.2026;${index === 7 ? 'x' : ''}`)
    const path = fileOf(`EmployeeNumber;Started;CompanyId\n${lines.join('\n')}\n`)
    const { stderr } = await importOf('employees', path)
    expect(stderr.split('\n').slice(0, 3)).toEqual([
      `roster: ${path}, 2000 lines, the first 2, 3 and 4: Started must be a date-time like 2024-01-31T09:00:00Z. They are "01.09.2026", "02.09.2026", "03.09.2026" and others; --locale de reads 01.09.2026 as 2026-09-01.`,
      `roster: ${path}, line 9: CompanyId must be an integer, or null. It is "x".`,
      'roster: Nothing was created.',
    ])
  })

  test('a number in the notation of another language than --locale is refused, not read as another number', async () => {
    const { stderr } = await importOf('absences', fileOf('Reason;Period.Days\nA;1.5\n'), '--locale', 'de')
    expect(stderr).toContain('line 2: Period.Days must be a number')
    expect(stderr).toContain('It is "1.5"; --locale en-US reads 1.5 as 1.5.')
  })
})

describe('roster import --lookup', () => {
  test('refuses values that no row or several rows have, each with its line and the nearest value', async () => {
    await server.post('/Companies', [{ name: 'Acme' }, { name: 'Twice' }, { name: 'Twice' }, { name: 'Blue Moon' }])
    const path = fileOf('lastName,company\nA,ACME\nB,Twice\nC,Acme\nD,Blue Mon\nE,Nowhere\nF,Nowhere\nG,\n')
    const { code, stderr } = await importOf('employees', path, '--lookup', 'Company=Name')
    expect(code).toBe(1)
    expect(stderr.split('\n')).toEqual([
      `roster: ${path}, line 2: CompanyId: there are no Companies with Name "ACME". The nearest is "Acme".`,
      `roster: ${path}, line 3: CompanyId: there are several Companies with Name "Twice": ids 2, 3.`,
      `roster: ${path}, line 5: CompanyId: there are no Companies with Name "Blue Mon". The nearest is "Blue Moon".`,
      `roster: ${path}, lines 6 and 7: CompanyId: there are no Companies with Name "Nowhere".`,
      'roster: Nothing was created.',
      '',
    ])
    expect((await server.sql`select from employee`).count).toBe(0)
  })

  test('works with --match, in a dry run, and from stdin', async () => {
    await server.post('/Companies', [{ name: 'Acme' }, { name: 'Other' }])
    await server.post('/Employees', [{ employeeNumber: 'E1', companyId: 1 }])
    const path = fileOf('employeeNumber,company\nE1,Other\nE2,Acme\n')
    const dry = await importOf('employees', path, '--lookup', 'company=name', '--match', 'EmployeeNumber', '--dry-run')
    expect(dry.stdout).toContain('line 2: companyId "1" -> "2"\n')
    await importOf('employees', path, '--lookup', 'Company=Name', '--match', 'EmployeeNumber')
    expect(await server.sql`select company from employee order by id`).toMatchObject([{ company: 'Other' }, { company: 'Acme' }])
    const words = ['import', 'employees', '-', '--format', 'csv', '--lookup', 'Company=Name', '--url', server.url]
    expect((await rosterApart(words, { ROSTER_KEY: KEY }, 'lastName,company\nA,Other\n')).code).toBe(0)
    expect((await server.sql`select from employee where company = 'Other'`).count).toBe(2)
    const wrong = await rosterApart(words, { ROSTER_KEY: KEY }, 'lastName,company\nA,Otehr\n')
    expect(wrong.stderr).toContain('stdin, line 2: CompanyId: there are no Companies with Name "Otehr". The nearest is "Other".')
  })

  test('reads a table of up to 50,000 rows completely, charged as one request per 1,000 rows', async () => {
    await server.sql`insert into employee (employee_number, last_name) select 'N' || n, 'Name ' || n from generate_series(1, 3000) n`
    const lines = Array.from({ length: 1_500 }, (_, index) => `N${index * 2 + 1}`)
    const { code, stdout } = await roster(
      [
        'import',
        'absences',
        fileOf(`EmployeeId\n${lines.join('\n')}\n`),
        '--lookup',
        'EmployeeId=EmployeeNumber',
        '--piece',
        '400',
      ],
      few.text,
    )
    expect([code, stdout]).toEqual([0, '1500 rows of Absences were created.\n'])
    const [found] = await server.sql`
      select count(*)::int as rows from absence join employee on employee.id = employee_id
      where employee_number = 'N' || ((absence.id - 1) * 2 + 1)`
    expect(found).toEqual({ rows: 1_500 })
  })

  test('looks for the values of the file by filters if the table is too large to read', async () => {
    await server.sql`insert into employee (employee_number) select 'N' || n from generate_series(1, 50100) n`
    const path = fileOf('EmployeeId\nN7\nX1\nN50007\n')
    const wrong = await importOf('absences', path, '--lookup', 'EmployeeId=EmployeeNumber')
    expect(wrong.stderr).toContain('line 3: EmployeeId: there are no Employees with EmployeeNumber "X1".\n')
    const right = await importOf('absences', fileOf('EmployeeId\nN7\nN50007\n'), '--lookup', 'EmployeeId=EmployeeNumber')
    expect(right.code).toBe(0)
    expect(await server.sql`select employee_id::int as id from absence order by id`).toMatchObject([{ id: 7 }, { id: 50007 }])
    const words = ['import', 'absences', '-', '--format', 'csv', '--lookup', 'EmployeeId=EmployeeNumber', '--url', server.url]
    const piped = await rosterApart(words, { ROSTER_KEY: KEY }, 'EmployeeId\nN7\n')
    expect(piped.stderr).toContain('--lookup EmployeeId: Employees have more than 50000 rows; give a file, not stdin')
  })

  test.each([
    ['Company', '--lookup "Company" is not a reference, = and a property'],
    ['=Name', 'is not a reference, = and a property of the other rows'],
    ['Department=Name', '"Department" names no reference of Employees.'],
    ['Company=Nmae', '"Nmae" names no property of Companies. Did you mean Name?'],
    ['Manager=EmployeeNumber', 'the file has no column Manager. --column <header>=Manager names it'],
  ])('with the value %s is refused, and the message says what is allowed', async (text, message) => {
    const { code, stderr } = await importOf('employees', fileOf('lastName,company\nA,\n'), '--lookup', text)
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)])
  })
})

describe('roster import: columns of a file', () => {
  test.each([
    [
      'lastName,Company\nA,Acme\n',
      'Company is Name of the row that CompanyId names, and no column is CompanyId: it would set nothing. Give --lookup Company=Name to find the rows by it, or --column Company= to leave it out',
    ],
    ['lastName,Manager\nA,B\n', 'Give --lookup Manager=DisplayName to find'],
    ['lastName,CompanyId.Name\nA,B\n', 'Give --column CompanyId.Name=CompanyId --lookup CompanyId=Name'],
    ['lastName,Company: Name\nA,B\n', "Give --column 'Company: Name'=CompanyId --lookup CompanyId=Name"],
    ['lastName,Last name\nA,B\n', 'Last name is there twice'],
    ['lastName,Nmae,Rolle\nA,B,C\n', '--column Nmae= --column Rolle='],
  ])('the file %j is refused, and the message says why', async (csv, message) => {
    const { code, stderr } = await importOf('employees', fileOf(csv))
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)])
  })

  test.each([
    [['--column', 'Rolle=JobTitle'], '--column names no column: "rolle"'],
    [['--column', 'lastName=Nmae'], '--column lastName: Employees have no property "Nmae".'],
    [['--column', 'lastName'], '--column: "lastName" is not a header of the file, = and a property'],
    [['--locale', 'klingon!'], '--locale is a language with decimal points or commas, such as de, fr-CH or en, not "klingon!"'],
    [['--sheet', 'A'], '--sheet is for .xlsx'],
    [['--no-create'], '--no-create is for --match'],
    [['--output', 'x.csv'], '--output is for --match with --dry-run'],
  ])('the options %j are refused, and the message says why', async (options, message) => {
    const { code, stderr } = await importOf('employees', fileOf('lastName\nA\n'), ...options)
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)])
  })

  test('NDJSON and .xlsx refuse options that have no effect on them', async () => {
    expect((await importOf('companies', fileOf('{"name":"A"}', 'ndjson'), '--locale', 'de')).stderr).toContain(
      '--locale is for CSV and .xlsx',
    )
    expect((await importOf('companies', sample('sheets.xlsx'), '--encoding', 'utf-8')).stderr).toContain(
      '--encoding is for CSV and NDJSON',
    )
    expect((await importOf('companies', fileOf('PK\u0003\u0004', 'csv'))).stderr).toContain('it is a workbook: name it .xlsx')
  })
})
