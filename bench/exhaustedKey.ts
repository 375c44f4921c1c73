import postgres from 'postgres'
import { generateKey, hashKey, idOf } from '../src/admit/apiKey.ts'
import { KeyStore } from '../src/keys/store.ts'

const NAME = 'bench-exhausted'

/** Makes a key that may send one request in six days, before the server starts. Returns the header to send it in. */
export async function makeExhaustedKey(databaseUrl: string): Promise<Record<string, string>> {
  const sql = postgres(databaseUrl, { max: 1 })
  await sql`delete from api_key where name = ${NAME}`
  await sql.end()
  const key = generateKey()
  const store = new KeyStore(databaseUrl)
  await store.create({
    id: idOf(key),
    name: NAME,
    hash: hashKey(key).toString('hex'),
    rights: '*:read,*:write',
    limits: '1/6d',
  })
  await store.end()
  return { Authorization: `ApiKey ${key}` }
}

/** Sends the one request that the key allows. @throws Error when it is not admitted */
export async function exhaust(url: string, headers: Record<string, string>): Promise<void> {
  const { status } = await fetch(`${url}/Absences/1`, { headers })
  if (status !== 200) throw new Error(`the key for the scenario of 429 was answered ${status} before its limit`)
}
