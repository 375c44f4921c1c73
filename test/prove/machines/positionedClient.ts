import type { Json } from '../../support/server.ts'

/** As many rows as a page may have: more than such clients have at once. */
const LIST = 'Companies?sort=-Id&PageSize=50'

interface Options {
  /** It writes to the first, and reads from both. */
  readonly urls: readonly [string, string]
  readonly headers: Record<string, string>
  isOver(): boolean
  count(what: string): void
  /** What a read with a position lacked, or had though it was deleted. */
  onStale(what: string): void
}

/**
 * Makes companies and deletes them, and asks after each with the write's position: the answer includes the write, or says that it
 * does not. What was not answered, or not with the write's own status, says nothing.
 */
export async function readAfterWrites({ urls: [own, other], headers, isOver, count, onStale }: Options): Promise<void> {
  const ask = async (url: string, method: string, path: string, after = '', body?: object) => {
    const sent = after === '' ? headers : { ...headers, 'X-Roster-After': after }
    const response = await fetch(`${url}/${path}`, { method, headers: sent, body: body ? JSON.stringify(body) : null })
    const text = await response.text()
    const position = response.headers.get('x-roster-position') ?? ''
    return { status: response.status, position, body: (text === '' ? null : JSON.parse(text)) as Json }
  }
  /** Whether each server has the row, as a list and by its id; null: it did not say. */
  const look = async (id: number, after: string) => {
    const asked = [other, own].map(async (url) => {
      const [list, row] = await Promise.all([ask(url, 'GET', LIST, after), ask(url, 'GET', `Companies/${id}`, after)])
      const inList = list.status === 200 ? list.body.some((one: Json) => one.id === id) : null
      return { url, found: [inList, row.status === 200 ? true : row.status === 404 ? false : null] }
    })
    return Promise.all(asked)
  }
  const judge = async (id: number, after: string, isThere: boolean) => {
    for (const { url, found } of await look(id, after))
      for (const [at, has] of found.entries()) {
        count(has === null ? 'reads with a position, refused' : 'reads with a position')
        if (has === !isThere)
          onStale(`${url}: ${at === 0 ? 'a list' : 'a row'} after ${after}: ${id} is ${has ? '' : 'not '}there`)
      }
  }
  const round = async () => {
    const made = await ask(own, 'POST', 'Companies', '', { Name: 'positioned' })
    if (made.status !== 201) return Bun.sleep(20)
    await judge(made.body.id, made.position, true)
    const deleted = await ask(own, 'DELETE', `Companies/${made.body.id}`, made.position)
    if (deleted.status === 204) await judge(made.body.id, deleted.position, false)
  }
  while (!isOver())
    await round().catch(async () => {
      count('lost')
      await Bun.sleep(20)
    })
}
