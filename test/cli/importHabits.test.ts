import { beforeEach, describe, expect, test } from 'bun:test'
import { temporaryFolder } from '../support/process.ts'
import { KEY } from '../support/server.ts'
import { useServer } from '../support/start.ts'
import { filesIn, rosterHere } from './roster.ts'

const server = useServer({ environment: { RATE_LIMIT_CLIENTS: '9' } })
beforeEach(async () => {
  await server.sql`truncate company, employee, absence, idempotency_key restart identity cascade`
})

const fileOf = filesIn(temporaryFolder().path)
const importOf = (entity: string, file: string, ...options: readonly string[]) =>
  rosterHere(['import', entity, file, '--url', server.url, ...options], { ROSTER_KEY: KEY })
const people = async () =>
  (
    await server.sql`select concat_ws(' ', employee_number, first_name, last_name, started::date, job_title) as text from employee order by id`
  ).map(({ text }) => text)

/** Bytes of the letters of a file that is neither UTF-8 nor windows-1252. */
const BYTES: Readonly<Record<string, number>> = { ł: 0xb3, ś: 0x9c, ą: 0xb9, ü: 0x9f, é: 0x8e }
const bytesOf = (text: string) => Uint8Array.from(text, (letter) => BYTES[letter] ?? letter.charCodeAt(0))

interface Habit {
  readonly content: string | Uint8Array
  /** What the first attempt says. */
  readonly told: readonly string[]
  readonly options: readonly string[]
  readonly rows: readonly string[]
}

const columns = (...given: readonly string[]) => given.flatMap((one) => ['--column', one])

const HABITS: Readonly<Record<string, Habit>> = {
  'a German list with a title, a total, and days with points': {
    content:
      'Personalliste;;;\nStand: 01.10.2026;;;\n\nPersonal-Nr.;Vorname;Nachname;Eintritt\n0017;Ada;Weiß;01.09.2026\n0018;Zoë;Roth;15.10.2026\nSumme;2;;\n',
    told: [
      'line 4: Employees have no properties "Personal-Nr.", "Vorname", "Nachname", "Eintritt".',
      '--column Personal-Nr.=EmployeeNumber --column Vorname=FirstName --column Nachname=LastName --column Eintritt=Started',
      'Days of Eintritt: --locale de reads 01.09.2026 as 2026-09-01',
      'Line 7: It seems to be a total or a note below the table: --last 6 leaves it out, --last 7 keeps it.',
      'the names of the columns are in line 4, below 2 lines that are not read.',
    ],
    options: [
      ...columns('Personal-Nr.=EmployeeNumber', 'Vorname=FirstName', 'Nachname=LastName', 'Eintritt=Started'),
      ...['--locale', 'de', '--last', '6'],
    ],
    rows: ['0017 Ada Weiß 2026-09-01', '0018 Zoë Roth 2026-10-15'],
  },
  'a French list with names of months, and cells that say that there is nothing': {
    content: '\ufeffNom;Prénom;Date d’embauche;Fonction\r\nRoux;Zoé;1er févr. 2026;N/A\r\nBlanc;Luc;14 juil. 2026;Chef\r\n',
    told: [
      '--locale fr reads 1er févr. 2026 as 2026-02-01',
      'Cells of Fonction: --empty N/A reads it as no value',
      "--column 'Date d’embauche'=Started",
    ],
    options: [
      ...columns('Nom=LastName', 'prénom=FirstName', 'Date d’embauche=Started', 'Fonction=JobTitle'),
      ...['--locale', 'fr', '--empty', 'N/A'],
    ],
    rows: ['Zoé Roux 2026-02-01', 'Luc Blanc 2026-07-14 Chef'],
  },
  'a Polish list in windows-1250': {
    content: bytesOf('Nazwisko;Data\nMichał;2026-09-01\n'),
    told: [
      'it is read as windows-1252 (line 2: Micha³). Name the encoding: --encoding windows-1250 reads Michał, --encoding windows-1252 Micha³',
      'Probably LastName: --column Nazwisko=LastName',
      'or nothing to leave the column out: --column Data=',
    ],
    options: [...columns('Nazwisko=LastName', 'Data=Started'), '--encoding', 'windows-1250'],
    rows: ['Michał 2026-09-01'],
  },
  'a list of a Mac': {
    content: bytesOf('firstName,lastName\nJürgen,René\n'),
    told: ['line 2: JŸrgen). Name the encoding: ', '--encoding macintosh reads Jürgen'],
    options: ['--encoding', 'macintosh'],
    rows: ['Jürgen René'],
  },
  'an American list with numbers in place of names, and months before days': {
    content: ',Emp ID,Name,Hire Date\n0,E1,"Hopper, Grace",9/30/2026\n1,E2,"Lovelace, Ada",12/1/2026\n',
    told: [
      'Column 1 has values, and no name in the header: --column 1= leaves it out.',
      "Days of 'Hire Date': --locale en-US reads 9/30/2026 as 2026-09-30",
    ],
    options: [...columns('1=', 'Emp ID=EmployeeNumber', 'Name=LastName', 'Hire Date=Started'), '--locale', 'en-US'],
    rows: ['E1 Hopper, Grace 2026-09-30', 'E2 Lovelace, Ada 2026-12-01'],
  },
  'a British list with days that may be American, and two columns of one name': {
    content: 'Surname,Start,Notes,Notes\nHopper,01/09/2026,a,b\nLovelace,2/9/2026,,\n',
    told: [
      'Days of Start: --locale fr or en-GB reads 01/09/2026 as 2026-09-01, --locale en-US reads 01/09/2026 as 2026-01-09',
      '--column Surname=LastName',
      '--column Start= --column 3= --column 4=',
    ],
    options: [...columns('Surname=LastName', 'Start=Started', '3=JobTitle', '*='), '--locale', 'en-GB'],
    rows: ['Hopper 2026-09-01 a', 'Lovelace 2026-09-02'],
  },
  'an Indian list with a header over two rows': {
    content:
      'Emp ID,Employee Name,January,,Team\n,,From,To,\n7,Asha Rao,01-Jan-2026,02-Jan-2026,A\n8,Ravi Das,03-Jan-2026,05-Jan-2026,B\n',
    told: ["--column 'January From'= --column 'January To'= --column Team=", '--locale en reads 01-Jan-2026 as 2026-01-01'],
    options: [
      ...columns('Emp ID=EmployeeNumber', 'Employee Name=LastName', 'January From=Started', '*='),
      ...['--locale', 'en-IN'],
    ],
    rows: ['7 Asha Rao 2026-01-01', '8 Ravi Das 2026-01-03'],
  },
  'a Dutch list of another program, with a comment above the names, and line breaks within these': {
    content: '#TYPE Export\n"Account";"Voor-\nnaam";"Naam";"In dienst"\n"a1";"Ank";"De Vries";"1-9-2026"\n',
    told: ['line 2: ', "--column 'Voor- naam'=FirstName", '--locale nl reads 1-9-2026 as 2026-09-01'],
    options: [
      ...columns('Account=EmployeeNumber', 'voor- naam=FirstName', 'Naam=LastName', 'In dienst=Started'),
      ...['--locale', 'nl'],
    ],
    rows: ['a1 Ank De Vries 2026-09-01'],
  },
}

describe('the second roster import of a file, with the options that the first one has named, succeeds:', () => {
  test.each(Object.keys(HABITS))('%s', async (name) => {
    const { content, told, options, rows } = HABITS[name] as Habit
    const path = fileOf(content)
    const first = await importOf('employees', path)
    expect(first.code).toBe(1)
    for (const text of told) expect(first.stderr).toContain(text)
    const second = await importOf('employees', path, ...options)
    expect([second.code, second.stdout]).toEqual([0, expect.stringContaining(`of Employees w`)])
    expect(await people()).toEqual([...rows])
  })
})

describe('an import of a file with faults', () => {
  test('reports together all rows with wrong values or a wrong number of values, and creates no row', async () => {
    const path = fileOf('lastName,started\nA,2026-01-01\nB\nC,2026-01-01,x\nD,N/A\nE,01.09.2026\n')
    const { code, stderr } = await importOf('employees', path)
    expect(code).toBe(1)
    expect(stderr.split('\n')).toEqual([
      `roster: ${path}, line 3: The row has 1 value, and the header 2 names.`,
      `roster: ${path}, line 4: The row has 3 values, and the header 2 names.`,
      `roster: ${path}, lines 5 and 6: Started must be a date-time like 2024-01-31T09:00:00Z. They are "N/A", "01.09.2026"; --locale de reads 01.09.2026 as 2026-09-01, --empty N/A reads it as no value.`,
      'roster: Nothing was created.',
      '',
    ])
    expect(await people()).toEqual([])
  })

  test('refuses a row that has values only in columns that are left out, and names its line', async () => {
    const { stderr } = await importOf('employees', fileOf('lastName,x\nA,1\n,2\n'), '--column', 'x=')
    expect(stderr).toContain('line 3: The row has values only in columns that are left out: it would be empty.')
  })

  test('proposes properties for headers in other languages, and imports nothing until the options are given', async () => {
    const german = await importOf('employees', fileOf('Personalnummer,lastName\n00017,A\n'))
    expect(german.code).toBe(1)
    expect(german.stderr).toContain(
      'line 1: Employees have no property "Personalnummer".\nroster: Probably EmployeeNumber: --column Personalnummer=EmployeeNumber\nroster: Properties without',
    )
    expect(await people()).toEqual([])
    const left = await importOf('employees', fileOf('Personalnummer,lastName\n00017,A\n'), '--column', '*=')
    expect(left.code).toBe(0)
    expect(await people()).toEqual(['A'])
  })

  test.each([
    [
      'absences',
      'Personalnummer;Art;Von;Bis',
      'EmployeeId=EmployeeNumber --column Art=Type --column Von=Start --column Bis=End\n',
    ],
    ['absences', 'E-Mail;Von', 'EmployeeId=WorkEmail --column Von=Start\n'],
  ])('proposes --lookup for a column that identifies a row, for %s with the header %s', async (entity, header, options) => {
    const { stderr } = await importOf(entity, fileOf(`${header}\n`))
    const [first = ''] = header.split(';')
    expect(stderr).toContain(`--column ${first}=EmployeeId --lookup ${options}`)
  })

  test.each([
    ['a property that already has a column', 'lastName,Nachname', 'Employees have no property "Nachname".'],
    ['the same property for two columns', 'Nachname,Familienname', 'Probably LastName: --column Nachname=LastName\n'],
    ['a copied name whose reference already has a column', 'companyId,Firma', 'Employees have no property "Firma".'],
  ])('never proposes %s', async (_, header, told) => {
    const { stderr } = await importOf('employees', fileOf(`${header}\n`))
    expect(stderr).toContain(told)
    expect(stderr).toContain(`or nothing to leave the column out: --column ${header.split(',')[1]}=\n`)
  })

  test('reports a column of a copied name that needs --lookup, together with unknown columns', async () => {
    const { stderr } = await importOf('employees', fileOf('lastName,Company,Rolle\nA,B,C\n'))
    expect(stderr).toContain('Employees have no property "Rolle".')
    expect(stderr).toContain('Give --lookup Company=Name to find the rows by it')
    expect(stderr).toContain(
      'If the file has names or numbers of those rows: --lookup CompanyId=Name, --lookup ManagerId=EmployeeNumber',
    )
  })

  test('refuses --column "*=Title", because "*=" can only leave out all other columns', async () => {
    const { stderr } = await importOf('employees', fileOf('lastName\nA\n'), '--column', '*=Title')
    expect(stderr).toContain('--column: * is all other columns: *= leaves them out.')
  })
})
