// Faults of the list parameter `may`, and lists that are empty since no right admits the write. D109
import { describe, expect, test } from 'bun:test'
import { keyWith } from '../support/rights.ts'
import { createRow } from '../support/rows.ts'
import { errorOf, makeKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'

describe('D109: faults of may', () => {
  const keys = {
    whole: makeKey(),
    narrow: keyWith(
      'read Absences?fields=Status,EmployeeId,Period',
      'update Absences?fields=Reason,Period.Hours',
      'create Absences?fields=Type',
    ),
    reader: keyWith('read Absences?fields=Status', 'read Employees'),
  }
  const server = useServer({ keys: Object.values(keys).map(({ record }) => record) })
  const FORM = 'may is update, update with names of properties as in update(Status), or delete'

  test.each<[key: keyof typeof keys, value: string, message: string]>([
    ['whole', '', `${FORM}.`],
    ['whole', 'upd', `${FORM}, not "upd".`],
    ['whole', 'updte', `${FORM}, not "updte". Did you mean update?`],
    ['whole', 'patch', `${FORM}, not "patch". For PATCH write update.`],
    ['whole', 'create', `${FORM}, not "create". Whether a row may be created does not depend on others: GET /Rights says it.`],
    ['whole', 'read', `${FORM}, not "read". Each row of the answer may be read.`],
    ['whole', 'constructor', `${FORM}, not "constructor".`],
    ['whole', 'write', `${FORM}, not "write". Ask for update, and for delete in a request of its own.`],
    ['whole', 'update(Status)x', `${FORM}, not "update(Status)x".`],
    ['whole', 'update(Status),delete', `${FORM}, not "update(Status),delete".`],
    ['whole', 'delete(Status)', 'delete takes no names of properties: a deletion removes whole rows.'],
    ['whole', 'update()', 'update() has names of properties with commas between; one of them is empty.'],
    ['whole', 'update(Status,)', 'update() has names of properties with commas between; one of them is empty.'],
    ['whole', 'update(Statsu)', 'Absences have no property "Statsu". Did you mean Status?'],
    ['whole', 'update(Id)', 'Id is read-only, so no write sets it.'],
    ['whole', 'update(Employee)', 'Employee is read-only, so no write sets it. It follows EmployeeId.'],
    [
      'whole',
      'update(EmployeeId.Department)',
      'EmployeeId.Department stands in another row, and an update sets properties of its own row.',
    ],
    // Type and Start are hidden from it, though it may create a row with a type.
    ['narrow', 'update(Type)', 'Absences have no property "Type".'],
    ['narrow', 'update(Start)', 'Absences have no property "Start".'],
    ['reader', 'update(Reason)', 'Absences have no property "Reason".'],
  ])('for the key %s, may=%s is 400 InvalidMay', async (key, value, message) => {
    for (const path of ['/Absences', '/Absences/Summary']) {
      const answer = await server.get(`${path}?may=${encodeURIComponent(value)}`, keys[key].headers)
      expect(errorOf(answer)).toEqual({ status: 400, code: 'InvalidMay', target: 'may' })
      expect(answer.body.Error.Message).toStartWith(message)
      expect(answer.body.Error.Message).not.toContain('function')
    }
  })

  test('may=update of a hidden property is answered like that of a property that does not exist', async () => {
    const messageFor = async (name: string) =>
      (await server.get(`/Absences?may=update(${name})`, keys.reader.headers)).body.Error.Message.replaceAll(name, '')
    expect(await messageFor('Reason')).toBe(await messageFor('Raeson'))
    expect(await messageFor('Start')).toBe(await messageFor('Xqzwv'))
  })

  test('may that is given twice is 400', async () => {
    const answer = await server.get('/Absences?may=update&may=delete')
    expect(errorOf(answer)).toEqual({ status: 400, code: 'InvalidMay', target: 'may' })
    expect(answer.body.Error.Message).toBe('may is given twice.')
  })

  test.each<[key: keyof typeof keys, value: string]>([
    ['narrow', 'update(Status)'],
    ['narrow', 'update(Period)'],
    ['narrow', 'update(Reason,Status)'],
    ['narrow', 'delete'],
    ['reader', 'update(Status)'],
    ['reader', 'update'],
  ])('for the key %s, may=%s lists no rows, since no right admits the write', async (key, value) => {
    await createRow(server, '/Absences', { Status: 'Requested' })
    const answer = await server.get(`/Absences?may=${value}`, keys[key].headers)
    expect([answer.status, answer.body, answer.headers.get('x-total-count')]).toEqual([200, [], '0'])
  })

  test('may=update of a property that the key may set but not read lists rows', async () => {
    await createRow(server, '/Absences', { Status: 'Requested' })
    for (const value of ['update(Reason)', 'update(reason,PERIOD.hours)', 'Update(Period.Hours)'])
      expect(
        Number((await server.get(`/Absences?may=${value}`, keys.narrow.headers)).headers.get('x-total-count')),
      ).toBePositive()
  })
})
