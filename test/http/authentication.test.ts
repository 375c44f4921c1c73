import { describe, expect, test } from 'bun:test'
import { Elysia } from 'elysia'
import { bearerKey } from '../../src/http/authentication.ts'

const app = new Elysia().use(bearerKey).get('/', ({ request, keyTextOf }) => JSON.stringify(keyTextOf(request) ?? null))

async function textIn(headers: Record<string, string>, query = ''): Promise<string | null> {
  return (await app.handle(new Request(`http://localhost/${query}`, { headers }))).json() as Promise<string | null>
}

describe('D33: the key in the header Authorization', () => {
  test.each(['ApiKey k-1', 'apikey k-1', 'APIKEY   k-1'])('is found: %s', async (authorization) => {
    expect(await textIn({ authorization })).toBe('k-1')
  })

  test.each(['', 'ApiKey', 'ApiKey ', 'ApiKeyk-1', 'Bearer k-1', 'k-1', 'ApiKey a b', `ApiKey ${'k'.repeat(257)}`])(
    'is not well formed: %s',
    async (authorization) => {
      expect(await textIn({ authorization })).toBeNull()
    },
  )

  test('is not looked for anywhere else', async () => {
    expect(await textIn({}, '?access_token=k-1&ApiKey=k-1')).toBeNull()
    expect(await textIn({ authorization: 'Basic x' }, '?access_token=k-1')).toBeNull()
  })
})
