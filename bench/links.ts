import type { Operation } from './operation.ts'

/** Where to ask: an address without a slash at the end, and what every request carries. */
interface Place {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * The same with the path that the link leads to, in place of each operation that asks for one. Cursors are signed for the
 * database, so they are good on every server of it. @throws Error where an answer has no such link
 */
export async function followLinks<Asked extends { readonly operations: readonly Operation[] }>(
  place: Place,
  asked: Asked,
): Promise<Asked> {
  const operations: Operation[] = []
  for (const { link, ...operation } of asked.operations)
    operations.push(link ? { ...operation, path: await follow(place, operation.path, link) } : operation)
  return { ...asked, operations }
}

async function follow({ url, headers }: Place, path: string, relation: string): Promise<string> {
  const answer = await fetch(url + path, { headers })
  await answer.arrayBuffer()
  const links = answer.headers.get('Link') ?? ''
  const [, address] = new RegExp(`<([^>]*)>; rel="${relation}"`).exec(links) ?? []
  if (!address) throw new Error(`GET ${path} is answered ${answer.status} without a link to the ${relation} page`)
  const { pathname, search } = new URL(address, url)
  return pathname + search
}
