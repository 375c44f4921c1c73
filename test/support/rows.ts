import type { Json, TestServer } from './server.ts'

/** Creates one row after the other, so that ids ascend in the order given; returns what the server answered. */
export async function createRows(server: TestServer, path: string, bodies: readonly object[]): Promise<Json[]> {
  const rows: Json[] = []
  for (const body of bodies) {
    const answer = await server.post(path, body)
    if (answer.status !== 201) throw new Error(`POST ${path} answered ${answer.status}: ${answer.text}`)
    rows.push(answer.body)
  }
  return rows
}

/** Creates one row; returns what the server answered. */
export async function createRow(server: TestServer, path: string, body: object): Promise<Json> {
  return (await createRows(server, path, [body]))[0]
}

/** One property of every row that a list answers, in its order. */
export async function listed(server: TestServer, path: string, key = 'name'): Promise<Json[]> {
  const { status, text, body } = await server.get(path)
  if (status !== 200) throw new Error(`GET ${path} answered ${status}: ${text}`)
  return body.map((row: Json) => row[key])
}
