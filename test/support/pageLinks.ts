import type { Answer } from './server.ts'

export interface PageLink {
  relation: string
  url: URL
}

/** Returns the links of a header, in order. @throws Error unless it is exactly a list of `<absolute URL>; rel="..."` */
export function pageLinksOf({ headers }: Answer, header: 'location' | 'link' = 'location'): PageLink[] {
  const text = headers.get(header)
  if (text === null) return []
  const links = [...text.matchAll(/<([^>]+)>; rel="(\w+)"/g)]
  const rebuilt = links.map(([link]) => link).join(', ')
  if (rebuilt !== text) throw new Error(`${header} is not a list of links: ${text}`)
  return links.map(([, address, relation]) => ({ relation: relation as string, url: new URL(address as string) }))
}

/** Returns the page that each link names: `{first: '1', next: '3'}`. */
export function pagesOf(answer: Answer): Record<string, string | null> {
  return Object.fromEntries(pageLinksOf(answer).map(({ relation, url }) => [relation, url.searchParams.get('page')]))
}
