import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDatabase } from '../support/postgres.ts'
import { type Json, KEY } from '../support/server.ts'

const ROOT = join(import.meta.dir, '../..')

const ENTITY = `import { boolean, copied, decimal, defineEntity, group, identity, instant, reference, text } from '../model/entity.ts'

export default defineEntity('Document', {
  id: identity(),
  title: text({ lengthMax: 20 }),
  signed: boolean(),
  fee: decimal(8),
  signedAt: instant(),
  file: group({ format: text(), pages: decimal(2) }),
  authorId: reference('Employee'),
  author: copied('authorId', 'displayName'),
  summary: text({ indexed: false }),
})
`

const MIGRATION = `
create table document (
  id bigint generated always as identity (maxvalue 9007199254740991),
  title text collate "und-x-icu",
  signed boolean not null default false,
  fee numeric(18, 8),
  signed_at timestamptz(0),
  file_format text collate "und-x-icu",
  file_pages numeric(12, 2),
  author_id bigint,
  author text collate "und-x-icu" generated always as (substr(nullif(author_key, ''), 2)) stored,
  author_key text,
  summary text collate "und-x-icu",
  constraint document_pk primary key (id),
  constraint document_author_id_found check ((author_id is null) = (author_key is null)),
  constraint document_author_id_current foreign key (author_id, author_key)
    references employee (id, display_name_key) on update cascade
);

create index document_title_sorted on document (title, id);
create index document_signed_sorted on document (signed, id);
create index document_fee_sorted on document (fee, id);
create index document_signed_at_sorted on document (signed_at, id);
create index document_file_format_sorted on document (file_format, id);
create index document_file_pages_sorted on document (file_pages, id);
create index document_author_id_sorted on document (author_id, id);
create index document_author_sorted on document (author, id);

select notify_changes_of('document');
`

let folder: string
let program: ChildProcess
let output = ''
let url: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'roster-document-'))
  for (const part of ['src', 'sql', 'package.json', 'tsconfig.json', 'bunfig.toml'])
    cpSync(join(ROOT, part), join(folder, part), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'src/entities/document.ts'), ENTITY)
  writeFileSync(join(folder, 'sql/0900_document.sql'), MIGRATION)
  program = spawn(process.execPath, ['--no-env-file', 'src/main.ts'], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: await createDatabase('empty'),
      PORT: '0',
      BOOTSTRAP_API_KEY: KEY,
      LOG_LEVEL: 'error',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  url = await address(program)
}, 20_000)

afterAll(() => {
  if (program.exitCode === null) program.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

/** Waits for the line that tells where the server listens. */
function address(child: ChildProcess): Promise<string> {
  return new Promise((done, fail) => {
    const collect = (chunk: Buffer) => {
      output += chunk
      const found = /listens on (http:\/\/[\w.:]+)/.exec(output)?.[1]
      if (found) done(found)
    }
    child.stdout?.on('data', collect)
    child.stderr?.on('data', collect)
    child.once('exit', (code) => fail(new Error(`the server ended with ${code}: ${output}`)))
  })
}

async function send(
  method: string,
  path: string,
  body?: string,
): Promise<{ status: number; headers: Headers; text: string; body: Json }> {
  const headers = { authorization: `ApiKey ${KEY}`, 'content-type': 'application/json' }
  const response = await fetch(url + path, { method, headers, ...(body === undefined ? {} : { body }) })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: text === '' ? undefined : JSON.parse(text) }
}

function faultOf({ status, body }: { status: number; body: Json }) {
  return { status, code: body.Error.Code, target: body.Error.Target, message: body.Error.Message }
}

describe('one file that declares an entity and one migration are a whole resource', () => {
  let authorId: number

  test('nothing else was added to the copy of the project', () => {
    const added = (part: string) => {
      const ours = new Set(readdirSync(join(ROOT, part), { recursive: true }).map(String))
      return readdirSync(join(folder, part), { recursive: true })
        .map(String)
        .filter((name) => !ours.has(name))
    }
    expect([...added('src'), ...added('sql')]).toEqual(['entities/document.ts', '0900_document.sql'])
    for (const file of ['http/app.ts', 'http/endpoints.ts', 'operations/resource.ts', 'registry.ts', 'main.ts'])
      expect(readFileSync(join(folder, 'src', file), 'utf8')).not.toMatch(/document/i)
  })

  test('it is described: its operations, filters and body', async () => {
    const { paths, components } = (await (await fetch(`${url}/openapi.json`)).json()) as Json
    const { get, post } = paths['/Documents']
    expect([get.operationId, post.summary]).toEqual(['listDocuments', 'Create a document'])
    expect(get.parameters.map(({ name }: Json) => name)).toContain('File.Pages')
    expect(Object.keys(components.schemas.DocumentWrite.properties)).toEqual([
      'title',
      'signed',
      'fee',
      'signedAt',
      'file',
      'authorId',
      'summary',
    ])
  })

  test('4.1: a create answers 201 with every field, decimals and times as they should be printed', async () => {
    authorId = (await send('POST', '/Employees', '{"FirstName":"Ada","LastName":"Byron"}')).body.id
    const body = `{"Title":"Contract","Fee":1e2,"SignedAt":"2024-01-31T10:00:00+01:00","File":{"Pages":7.5},"AuthorId":${authorId}}`
    const created = await send('POST', '/Documents', body)
    expect({ status: created.status, text: created.text, location: created.headers.get('location') }).toEqual({
      status: 201,
      text:
        `{"id":1,"title":"Contract","signed":false,"fee":100.00000000,"signedAt":"2024-01-31T09:00:00Z",` +
        `"file":{"format":null,"pages":7.50},"authorId":${authorId},"author":"Ada Byron","summary":null}`,
      location: `${url}/Documents/1`,
    })
    expect((await send('GET', '/documents/1')).text).toBe(created.text)
  })

  test('4.1, rules 2 and 3: a PATCH changes what it names, a PUT all', async () => {
    const patched = await send('PATCH', '/Documents/1', '{"signed":true,"File":{"Format":"pdf"}}')
    expect(patched.body).toMatchObject({ title: 'Contract', signed: true, file: { format: 'pdf', pages: 7.5 } })
    const replaced = await send('PUT', '/Documents/1', '{"Title":"Lease"}')
    expect(replaced.body).toEqual({
      id: 1,
      title: 'Lease',
      signed: false,
      fee: null,
      signedAt: null,
      file: null,
      authorId: null,
      author: null,
      summary: null,
    })
  })

  test('4.2 and 4.3: it is filtered, sorted and paged by its own properties', async () => {
    for (let number = 1; number <= 12; number++) {
      const author = number % 2 === 0 ? `,"AuthorId":${authorId}` : ''
      const file = `"File":{"Pages":${number % 3},"Format":"f${number}"}`
      await send('POST', '/Documents', `{"Title":"Paper","Signed":${number > 2},"Fee":${number}.5,${file}${author}}`)
    }
    const answer = await send('GET', '/Documents?Signed=true&Fee=%3E3&sort=-File.Pages,+Fee&PageSize=5&page=2')
    expect(answer.body.map(({ file }: Json) => file.format)).toEqual(['f10', 'f3', 'f6', 'f9', 'f12'])
    expect(answer.headers.get('x-total-count')).toBe('10')
    const links = [...(answer.headers.get('location') ?? '').matchAll(/<([^>]+)>; rel="(\w+)"/g)]
    expect(links.map(([, , relation]) => relation)).toEqual(['first', 'previous'])
    for (const [, link] of links) expect(link).toStartWith(`${url}/Documents?Signed=true&Fee=%3E3&`)
    expect((await send('GET', '/Documents?Author=Ada+Byron&PageSize=50')).body).toHaveLength(6)
  })

  describe('a property without an index', () => {
    const COUNT = 50
    /** By id; few values, so that many tie. */
    const summaries = new Map<number, string | null>()
    beforeAll(async () => {
      for (let number = 0; number < COUNT; number++) {
        const summary = number % 7 === 0 ? null : `Summary ${(number * 5) % 9}`
        const { body } = await send('POST', '/Documents', JSON.stringify({ Title: 'Scanned', Summary: summary }))
        summaries.set(body.id, summary)
      }
    })

    const idsWhere = (matches: (summary: string | null) => boolean) =>
      [...summaries].filter(([, summary]) => matches(summary)).map(([id]) => id)
    const idsOf = ({ body }: { body: Json }): number[] => body.map(({ id }: Json) => id)
    /** D26: no value comes last, the id breaks ties; descending all of it is the other way round. */
    const inOrder = [...Array(9).keys()].map((last) => `Summary ${last}`)
    const ascending = () => [...inOrder, null].flatMap((value) => idsWhere((summary) => summary === value))

    test('is filtered by', async () => {
      const filters: [query: string, ids: number[]][] = [
        ['Summary=Summary+3', idsWhere((summary) => summary === 'Summary 3')],
        ['Summary=!=Summary+3', idsWhere((summary) => summary !== 'Summary 3')],
        ['Summary=%3ESummary+6', idsWhere((summary) => summary !== null && summary > 'Summary 6')],
        ['Summary=', idsWhere((summary) => summary === null)],
      ]
      for (const [query, ids] of filters) {
        const answer = await send('GET', `/Documents?Title=Scanned&${query}&PageSize=50`)
        expect([query, answer.headers.get('x-total-count')]).toEqual([query, String(ids.length)])
        expect([query, idsOf(answer)]).toEqual([query, ids.slice(0, 50)])
      }
    })

    for (const sign of ['', '-']) {
      const path = `/Documents?Title=Scanned&sort=${sign}Summary&PageSize=5`
      const expected = () => (sign === '-' ? ascending().reverse() : ascending())

      test(`is sorted by: sort=${sign}Summary, on any page, asked for again and after a write`, async () => {
        for (const page of [1, 2, 7, 10, 11, 7, 10]) {
          const answer = await send('GET', `${path}&page=${page}`)
          expect([page, idsOf(answer)]).toEqual([page, expected().slice(5 * page - 5, 5 * page)])
          expect(answer.headers.get('x-total-count')).toBe(String(COUNT))
        }
        const [id] = expected() as [number]
        const summary = summaries.get(id) === null ? 'Summary 4' : null
        await send('PATCH', `/Documents/${id}`, JSON.stringify({ Summary: summary }))
        summaries.set(id, summary)
        for (const page of [1, 7, 10])
          expect([page, idsOf(await send('GET', `${path}&page=${page}`))]).toEqual([
            page,
            expected().slice(5 * page - 5, 5 * page),
          ])
      })

      test(`is walked along by cursors, there and back: sort=${sign}Summary`, async () => {
        const walk = async (start: string, relation: 'next' | 'previous') => {
          const pages: number[][] = []
          for (let next: string | undefined = start; next; ) {
            const answer = await send('GET', next)
            pages.push(idsOf(answer))
            const link = new RegExp(`<([^>]+)>; rel="${relation}"`).exec(answer.headers.get('location') ?? '')?.[1]
            if (link) expect(link).toContain('&cursor=')
            next = link?.slice(url.length)
          }
          return pages
        }
        expect((await walk(path, 'next')).flat()).toEqual(expected())
        const back = await walk(`${path}&page=10`, 'previous')
        expect(back.reverse().flat()).toEqual(expected())
      })
    }
  })

  test('copied values follow their source, and the reference protects it. D11, D16', async () => {
    await send('PATCH', `/Employees/${authorId}`, '{"KnownAs":"Augusta"}')
    expect((await send('GET', '/Documents?Author=Augusta+Byron&PageSize=50')).body).toHaveLength(6)
    expect(faultOf(await send('DELETE', `/Employees/${authorId}`))).toMatchObject({
      status: 409,
      code: 'StillReferenced',
    })
    const missing = faultOf(await send('POST', '/Documents', '{"AuthorId":999999}'))
    expect(missing).toMatchObject({ status: 409, code: 'ReferenceNotFound', target: 'AuthorId' })
  })

  test.each([
    ['POST', '/Documents', '{"Titel":"x"}', 400, 'UnknownProperty', 'Titel', 'Did you mean Title?'],
    ['POST', '/Documents', '{"Fee":"5"}', 400, 'InvalidValue', 'Fee', 'Fee must be'],
    ['POST', '/Documents', '{"Fee":1.123456789}', 400, 'InvalidValue', 'Fee', '8 after the point'],
    ['POST', '/Documents', '{"File":{"Pages":1.234}}', 400, 'InvalidValue', 'File.Pages', '2 after the point'],
    ['POST', '/Documents', '{"Title":"123456789012345678901"}', 400, 'InvalidValue', 'Title', '20 characters'],
    ['POST', '/Documents', '{"SignedAt":"2023-02-30T00:00:00Z"}', 400, 'InvalidValue', 'SignedAt', 'SignedAt must be'],
    ['POST', '/Documents', '{"Signed":null}', 400, 'InvalidValue', 'Signed', 'Signed must be'],
    ['GET', '/Documents?Titel=x', '', 400, 'UnknownParameter', 'Titel', 'Did you mean Title?'],
    ['GET', '/Documents?Signed=%3Ctrue', '', 400, 'InvalidFilter', 'Signed', 'Signed'],
    ['GET', '/Documents?sort=-File', '', 400, 'InvalidSort', 'sort', 'File.Pages'],
    ['GET', '/Documents/77', '', 404, 'NotFound', 'Api', 'Document with id 77'],
    ['GET', '/Document', '', 404, 'NotFound', 'Api', 'Did you mean documents?'],
  ])('%s %s %s answers in its own names', async (method, path, body, status, code, target, message) => {
    const fault = faultOf(await send(method, path, body || undefined))
    expect({ ...fault, message: fault.message.toLowerCase() }).toEqual({
      status,
      code,
      target,
      message: expect.stringContaining(message.toLowerCase()),
    })
  })

  test('the root lists it beside the others', async () => {
    expect((await send('GET', '/')).body.resources).toMatchObject({
      Documents: `${url}/Documents`,
      Companies: `${url}/Companies`,
    })
  })

  test('4.1, rule 4: a delete answers 204, and the document is gone', async () => {
    expect((await send('DELETE', '/Documents/1')).status).toBe(204)
    expect((await send('GET', '/Documents/1')).status).toBe(404)
  })

  test('the server ends with code 0 on SIGTERM, and has logged no error', async () => {
    const ended = new Promise((done) => program.once('exit', (code, signal) => done({ code, signal })))
    program.kill('SIGTERM')
    expect(await ended).toEqual({ code: 0, signal: null })
    expect(output).not.toMatch(/error/i)
  }, 10_000)
})
