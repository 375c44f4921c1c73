import { beforeAll, expect, test } from 'bun:test'
import { excerpt } from '../../src/model/excerpt.ts'
import { hostileTexts, LEAK } from '../support/hostile.ts'
import { type Answer, errorOf } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const server = useServer()
beforeAll(async () => {
  await server.sql`insert into employee (first_name, department) values ('Ada', 'Sales'), ('Grace', null)`
  await server.sql`
    insert into absence (status, employee_id, employee_key)
    select 'Approved', id, display_name_key from employee union all select 'Declined', null, null`
})

/** Expects no 5xx, and no internal text; texts of the client may be repeated. */
function expectHarmless(what: string, { status, text }: Pick<Answer, 'status' | 'text'>) {
  const leaks = LEAK.exec(text)?.[0] ?? null
  expect({ what, status: status < 500 ? 'fine' : status, leaks }).toEqual({ what, status: 'fine', leaks: null })
}

test.each(['EmployeeId.Department', 'EmployeeId.CompanyId.Name', 'EmployeeId.DisplayName'])(
  'hostile text in a filter by the path %s is a value, whatever the operator. D91',
  async (name) => {
    const ways = [
      ...['=', '!=', '<', '<=', '>', '>='].map((sign) => ['', sign]),
      ...['[]', '[begins]', '[contains]'].map((sign) => [sign, '']),
    ]
    const cases = ways.flatMap((way) => hostileTexts.map((text) => ({ way, text })))
    for (const {
      way: [after, before],
      text,
    } of cases) {
      const path = `/Absences?${name}${after}=${encodeURIComponent(before + text)}`
      const answer = await server.get(path)
      expectHarmless(path, answer)
      // Texts of accents alone are no part of any text.
      const refused = text.includes('\0') || (answer.status === 400 && /^\[[bc]/.test(after ?? '') && text.trim().length < 4)
      expect({ path, status: answer.status }).toEqual({ path, status: refused ? 400 : 200 })
    }
  },
)

test('hostile text as the operand of [under] is refused. D91', async () => {
  for (const name of ['EmployeeId.ManagerId', 'EmployeeId.ManagerId.ManagerId'])
    for (const text of hostileTexts) {
      const answer = await server.get(`/Absences?${name}[under]=${encodeURIComponent(text)}`)
      expectHarmless(text, answer)
      expect({ text, ...errorOf(answer) }).toEqual({ text, status: 400, code: 'InvalidFilter', target: name })
    }
})

test('a path with hostile text as one of its names is refused in every parameter that takes paths. D91', async () => {
  for (const text of hostileTexts) {
    const hostile = encodeURIComponent(text)
    for (const path of [`EmployeeId.${text}`, `${text}.Department`, `EmployeeId.CompanyId.${text}`]) {
      const name = encodeURIComponent(path)
      const answer = await server.get(`/Absences?${name}=1`)
      expectHarmless(text, answer)
      expect({ text, ...errorOf(answer) }).toEqual({ text, status: 400, code: 'UnknownParameter', target: excerpt(path) })
      for (const query of [
        `?fields=${name}`,
        `/Summary?groupBy=${name}`,
        `/Summary?maximum=${name}`,
        `?sort=EmployeeId.${hostile}`,
      ]) {
        const refused = await server.get(`/Absences${query}`)
        expectHarmless(text, refused)
        expect({ text, query, status: refused.status }).toEqual({ text, query, status: 400 })
      }
    }
  }
})
