import { describe, expect, test } from 'bun:test'
import { readWebRequests } from './powerQuery.ts'

const read = (name: string) => `<${name}>`
const call = (options: string) => `let Source = Json.Document(Web.Contents("http://127.0.0.1:3000", [${options}])) in Source`
const urlOf = async (options: string) => (await readWebRequests(call(options), read))[0]?.url

describe('a reader of Power Query', () => {
  test('builds the address as Power Query does: all but unreserved characters encoded, a list as several parameters', async () => {
    expect(await urlOf('RelativePath = "Absences", Query = [Start = {">=a", "<b"}, Period.Days = "!=(1)"]')).toBe(
      'http://127.0.0.1:3000/Absences?Start=%3E%3Da&Start=%3Cb&Period.Days=%21%3D%281%29',
    )
  })

  test('keeps an empty value', async () => {
    expect(await urlOf('RelativePath = "Employees", Query = [ManagerId = ""]')).toBe('http://127.0.0.1:3000/Employees?ManagerId=')
  })

  test('joins texts, and asks for the values of names', async () => {
    const block = call('RelativePath = "Absences", Query = [page = Number.ToText(number)], Headers = [A = "B " & Key]')
    expect(await readWebRequests(block, read)).toEqual([
      { url: 'http://127.0.0.1:3000/Absences?page=%3Cnumber%3E', headers: { A: 'B <Key>' } },
    ])
  })

  test.each([
    ['let Source = in Source', "a keyword <'in'> was found instead"],
    ['let Source = Json.Document("{}") in Source', 'has no call of Web.Contents'],
    [call('RelativPath = "Absences"'), 'Web.Contents has RelativPath'],
    [call('Query = Record.Combine({})'), 'is a RecursivePrimaryExpression'],
  ])('refuses %j', async (block, message) => {
    await expect(readWebRequests(block, read)).rejects.toThrow(message)
  })
})
