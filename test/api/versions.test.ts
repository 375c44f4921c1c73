import { describe, expect, test } from 'bun:test'
import { COPIES_MAX } from '../../src/compile/update.ts'
import { expectAll, outcomeOf } from '../support/cases.ts'
import { createRow, createRows } from '../support/rows.ts'
import { type Answer, makeKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'
import { titled } from '../support/titles.ts'

const writer = makeKey({ name: 'writer', rights: '*:write' })

const server = useServer({ keys: [writer.record] })

const tagOf = ({ headers }: Answer) => headers.get('etag') as string
const send = (method: string, path: string, headers: Record<string, string>, body: unknown = { Name: 'after' }) =>
  server.send(method, path, method === 'DELETE' || method === 'GET' || method === 'HEAD' ? undefined : body, headers)
const failed = (target: string) => `412 PreconditionFailed ${target}`

/** A company, by its address, with the tag that it has now. */
async function newCompany(Name = 'before') {
  const answer = await server.post('/Companies', { Name })
  return { path: `/Companies/${answer.body.id}`, id: answer.body.id as number, tag: tagOf(answer) }
}

describe('D41: the tag of a row', () => {
  test('is strong, and the same in every response that shows this version', async () => {
    const created = await server.post('/Companies', { Name: 'Blue Moon' })
    const path = `/Companies/${created.body.id}`
    expect(tagOf(created)).toMatch(/^"\w{4}-\d+"$/)
    expect(tagOf(await server.get(path))).toBe(tagOf(created))
    expect(tagOf(await server.send('HEAD', path))).toBe(tagOf(created))
    for (const [method, body] of [
      ['PUT', { Name: 'Red Sun' }],
      ['PATCH', { Enabled: true }],
      ['PATCH', {}],
    ] as const) {
      const answer = await send(method, path, {}, body)
      expect([answer.status, tagOf(answer)]).toEqual([200, tagOf(await server.get(path))])
    }
  })

  test('changes with every write of the row, and with no write of another row', async () => {
    const { path, tag } = await newCompany()
    const tags = [tag]
    for (const write of [
      () => server.patch(path, { Name: 'other' }),
      () => server.patch(path, { Name: 'other' }),
      () => server.put(path, { Name: 'third' }),
      () => server.sql`update company set name = 'by psql' where id = ${path.split('/')[2] as string}`,
    ]) {
      await write()
      tags.push(tagOf(await server.get(path)))
      await newCompany('another row')
      expect(tagOf(await server.get(path))).toBe(tags.at(-1) as string)
    }
    expect(new Set(tags).size).toBe(5)
  })

  test('changes with a name that the row copies from another row', async () => {
    const { id, path } = await newCompany()
    const employee = await createRow(server, '/Employees', { FirstName: 'Ada', CompanyId: id })
    const at = `/Employees/${employee.id}`
    const before = tagOf(await server.get(at))
    await server.patch(path, { Name: 'renamed' })
    const after = await server.get(at)
    expect([after.body.company, tagOf(after) === before]).toEqual(['renamed', false])
    expect(outcomeOf(await send('PATCH', at, { 'if-match': before }, { WorkPhone: '1' }))).toBe(failed('If-Match'))
    // Also if a row copies its own name: the answer shows the copy, and the tag is that of the row with the copy.
    const own = await server.patch(at, { ManagerId: employee.id, FirstName: 'Augusta' })
    const read = await server.get(at)
    expect([own.body.manager, own.body, tagOf(own)]).toEqual(['Augusta', read.body, tagOf(read)])
  })

  test('differs from the tag of a row of another entity with the same values', async () => {
    const [first] = await createRows(server, '/Absences', [{}])
    const { tag } = await newCompany()
    const version = tag.slice(tag.indexOf('-'))
    const absence = tagOf(await server.get(`/Absences/${first.id}`))
    expect(absence.slice(0, 5)).not.toBe(tag.slice(0, 5))
    expect(absence.slice(absence.indexOf('-'))).not.toBe(version)
  })

  test('is given to a key that may not read, which can use it without learning a value of the row', async () => {
    const { path, tag, id } = await newCompany('secret name')
    const own = (method: string, match: string, body?: unknown) =>
      server.send(method, path, body, { ...writer.headers, 'if-match': match })
    const changed = await own('PATCH', tag, { Enabled: true })
    expect([changed.status, changed.body]).toEqual([200, { id }])
    const refused = await own('PATCH', tag, { Enabled: false })
    expect([outcomeOf(refused), tagOf(refused)]).toEqual([failed('If-Match'), tagOf(changed)])
    expect(refused.text).not.toContain('secret name')
    expect((await own('DELETE', tagOf(changed))).status).toBe(204)
  })
})

const WRITES = ['PUT', 'PATCH', 'DELETE'] as const

describe('If-Match', () => {
  describe.each(WRITES)('of %s', (method) => {
    test.each([
      ['the tag', 'TAG'],
      ['any version', '*'],
      ['a list with the tag', '"other", W/"weak",,"a,b" , TAG'],
      ['the tag after its weak form', 'W/TAG, TAG'],
    ])('matches %s: the write is done', async (_, match) => {
      const { path, tag } = await newCompany()
      const answer = await send(method, path, { 'if-match': match.replaceAll('TAG', tag) })
      expect(answer.status).toBe(method === 'DELETE' ? 204 : 200)
      expect((await server.get(path)).status).toBe(method === 'DELETE' ? 404 : 200)
    })

    test('is 412 without a matching tag: nothing is written, and the response has the current tag', async () => {
      const { path, tag: earlier } = await newCompany()
      const current = await server.patch(path, { Name: 'changed' })
      const tag = tagOf(current)
      // If the tag has no letters, the last one equals it.
      const others = [
        ...[earlier, `"x", ${earlier}, W/"y"`, `"0000${tag.slice(5)}`, tag.replace('-', '-0'), '""', `"${tag.slice(1, -1)},"`],
        ...[tag.replace(/\d+"$/, `${'9'.repeat(40)}"`), tag.replace(/"$/, `'}"`), `W/${tag}`, tag.toUpperCase()],
      ].filter((other) => other !== tag)
      expect(others.length).toBeGreaterThan(8)
      for (const other of others) {
        const answer = await send(method, path, { 'if-match': other })
        expect([other, outcomeOf(answer), tagOf(answer)]).toEqual([other, failed('If-Match'), tag])
        expect(answer.body.Error.Message).toContain(tag)
        // A proxy may have made it a weak one. RFC 9110, 8.8.3.2
        if (other === `W/${tag}`) expect(answer.body.Error.Message).toContain('behind W/')
        const now = await server.get(path)
        expect([now.body.name, tagOf(now)]).toEqual(['changed', tag])
      }
    })

    test('is 404 for a missing row, whatever tag the header names', async () => {
      const { path, tag } = await newCompany()
      await server.remove(path)
      for (const match of ['*', tag]) expect(outcomeOf(await send(method, path, { 'if-match': match }))).toBe('404 NotFound Api')
    })
  })

  test('also applies to a PATCH without properties', async () => {
    const { path, tag } = await newCompany()
    const { headers } = await server.patch(path, { Name: 'changed' })
    expect(outcomeOf(await send('PATCH', path, { 'if-match': tag }, {}))).toBe(failed('If-Match'))
    const same = await send('PATCH', path, { 'if-match': headers.get('etag') as string }, {})
    expect([same.status, tagOf(same)]).toEqual([200, headers.get('etag') as string])
  })

  test('of a GET is 200 if it names the current version, and otherwise 412', async () => {
    const { path, tag } = await newCompany()
    expect((await server.get(path, { 'if-match': tag })).status).toBe(200)
    await server.patch(path, { Name: 'changed' })
    expect(outcomeOf(await server.get(path, { 'if-match': tag }))).toBe(failed('If-Match'))
  })

  test('is checked (412) before references to missing rows, and before rows that refer to a deleted row (409)', async () => {
    const { id, path, tag } = await newCompany()
    const employee = await createRow(server, '/Employees', { CompanyId: id })
    const at = `/Employees/${employee.id}`
    const headers = { 'if-match': tag.replace(/\d+/, '7') }
    expect(outcomeOf(await send('PATCH', at, headers, { CompanyId: 999_999 }))).toBe(failed('If-Match'))
    expect(outcomeOf(await send('DELETE', path, headers))).toBe(failed('If-Match'))
    expect(outcomeOf(await send('DELETE', path, { 'if-match': tag }))).toStartWith('409 StillReferenced')
  })
})

describe('If-None-Match', () => {
  test.each(['TAG', 'W/TAG', '*', '"x" ,TAG'])('of GET and HEAD, %s: 304 without a body, with the tag', async (match) => {
    const { path, tag } = await newCompany()
    for (const method of ['GET', 'HEAD']) {
      const answer = await send(method, path, { 'if-none-match': match.replace('TAG', tag) })
      expect([answer.status, answer.text, tagOf(answer)]).toEqual([304, '', tag])
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(answer.headers.get('x-ratelimit-remaining')).toMatch(/^\d+$/)
    }
  })

  test('of GET with another tag is answered in full, also together with a matching If-Match', async () => {
    const { path, tag } = await newCompany()
    const answer = await server.get(path, { 'if-none-match': '"x"', 'if-match': tag })
    expect([answer.status, answer.body.name, tagOf(answer)]).toEqual([200, 'before', tag])
    expect((await server.get(path, { 'if-none-match': tag, 'if-match': tag })).status).toBe(304)
  })

  test.each(WRITES)('of %s with `*`, or with a tag that the row has, is 412, and nothing is written', async (method) => {
    const { path, tag } = await newCompany()
    for (const match of ['*', tag, `"x", W/${tag}`]) {
      const answer = await send(method, path, { 'if-none-match': match })
      expect([outcomeOf(answer), tagOf(answer)]).toEqual([failed('If-None-Match'), tag])
    }
    expect(tagOf(await server.get(path))).toBe(tag)
    expect((await send(method, '/Companies/999999', { 'if-none-match': '*' })).status).toBe(404)
    expect((await send(method, path, { 'if-none-match': '"x"' })).status).toBe(method === 'DELETE' ? 204 : 200)
  })

  test('of POST is about the list: `*` is 412, since the list exists and has no version', async () => {
    const before = await server.get('/Companies?PageSize=5')
    const post = (headers: Record<string, string>) => server.send('POST', '/Companies', { Name: 'new' }, headers)
    expect(outcomeOf(await post({ 'if-none-match': '*' }))).toBe(failed('If-None-Match'))
    expect(outcomeOf(await post({ 'if-match': '"x"' }))).toBe(failed('If-Match'))
    const total = () => server.get('/Companies').then(({ headers }) => Number(headers.get('x-total-count')))
    expect(await total()).toBe(Number(before.headers.get('x-total-count')))
    expect((await post({ 'if-match': '*', 'if-none-match': '"x"' })).status).toBe(201)
  })
})

describe('a header without a valid tag', () => {
  const quoted = ' Did you mean "4711"?'
  const wrong = titled<readonly [string, string]>([
    ['4711', quoted],
    ["'4711'", quoted],
    ['"4711', quoted],
    ['W/4711', ' Did you mean W/"4711"?'],
    ...['w/"4711"', '"a" "b"', '*, "a"', '"a", *', '"a"b', ',', '"a b"'].map((header) => [header, ''] as const),
    [`"a"${' '.repeat(9_000)}x`, ''],
    ['"'.repeat(8_001), ''],
  ])
  test.each(wrong)('is 400: %s', async (_, header, hint) => {
    const { path, tag } = await newCompany()
    for (const name of ['If-Match', 'If-None-Match'])
      for (const method of ['GET', ...WRITES]) {
        const answer = await send(method, path, { [name]: header })
        expect(outcomeOf(answer)).toBe(`400 InvalidHeader ${name}`)
        expect(answer.body.Error.Message).toStartWith(`${name} is * or one or more tags as ETag has them`)
        expect(answer.body.Error.Message).toEndWith(hint)
      }
    expect(tagOf(await server.get(path))).toBe(tag)
    await expectAll(server, '400 InvalidHeader If-Match', [
      ['GET /Companies', undefined, { 'If-Match': header }],
      ['POST /Companies', {}, { 'If-Match': header }],
    ])
  })
})

describe('a rename with If-Match', () => {
  test.each([2, COPIES_MAX, COPIES_MAX + 1])('with %d copies changes only the version that If-Match names', async (copies) => {
    const { id, path, tag } = await newCompany()
    await server.sql`
      insert into employee (first_name, company_id, company_key)
      select 'E' || n, c.id, c.name_key from company c, generate_series(1, ${copies}) as n where c.id = ${id}`
    const renamed = await send('PATCH', path, { 'if-match': tag }, { Name: 'first' })
    expect([renamed.status, renamed.body.name]).toEqual([200, 'first'])
    const late = await send('PUT', path, { 'if-match': tag }, { Name: 'late' })
    expect([outcomeOf(late), tagOf(late)]).toEqual([failed('If-Match'), tagOf(renamed)])
    const names = await server.sql`select company, count(*)::int as n from employee where company_id = ${id} group by 1`
    expect(names.map(({ company, n }) => [company, n])).toEqual([['first', copies]])
  })
})
