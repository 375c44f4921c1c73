import { expect, test } from 'bun:test'
import { makeKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'
import { createRoster } from './roster.ts'

const desk = makeKey({
  rights: '',
  addresses: 'update Absences?Status=Requested&fields=Status becomes Status[]=Approved&Status[]=Declined',
})
const server = useServer({ keys: [desk.record] })

test('rights() of the client returns the rights of its key', async () => {
  expect(await createRoster({ url: server.url, key: desk.text }).rights()).toEqual([
    {
      text: desk.record.addresses as string,
      role: null,
      template: null,
      collection: 'Absences',
      verb: 'update',
      properties: ['Status'],
      filters: [{ property: 'Status', operator: '=', value: 'Requested' }],
      becomes: [{ property: 'Status', operator: '[]', values: ['Approved', 'Declined'] }],
    },
  ])
})
