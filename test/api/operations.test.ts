import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { errorOf, startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

describe('4.1 operations on an entity', () => {
  test('rule 1: a create sends only what it sets and gets the whole entity with its id', async () => {
    const { status, body } = await server.post('/Companies', { Name: 'Acme' })
    expect({ status, body }).toEqual({ status: 201, body: { id: expect.any(Number), name: 'Acme', enabled: false } })
  })

  test('rule 2: a PUT with only Name on an enabled company returns enabled false', async () => {
    const { body: created } = await server.post('/Companies', { Name: 'Acme', Enabled: true })
    const { status, body } = await server.put(`/Companies/${created.id}`, { Name: 'Acme 2' })
    expect({ status, body }).toEqual({ status: 200, body: { id: created.id, name: 'Acme 2', enabled: false } })
  })

  test('rule 3: a PATCH with only Enabled leaves the name unchanged', async () => {
    const { body: created } = await server.post('/Companies', { Name: 'Acme' })
    const { status, body } = await server.patch(`/Companies/${created.id}`, { Enabled: true })
    expect({ status, body }).toEqual({ status: 200, body: { id: created.id, name: 'Acme', enabled: true } })
  })

  test('rule 4: a delete answers 204 without a body, and the entity is gone', async () => {
    const { body: created } = await server.post('/Companies', { Name: 'Acme' })
    const { status, text } = await server.remove(`/Companies/${created.id}`)
    expect({ status, text }).toEqual({ status: 204, text: '' })
    expect(errorOf(await server.get(`/Companies/${created.id}`))).toMatchObject({ status: 404, code: 'NotFound' })
  })
})
