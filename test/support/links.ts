import type { Answer } from './server.ts'

export interface PageLink {
  relation: string
  address: string
  page: number
  /** The parameters beside `page` and `cursor`, decoded, in their order. */
  kept: [string, string][]
}

/** The links of one header, in its order; anything between or around them is a fault. Spec 4.3, D31 */
export function linksOf(answer: Answer, header: 'location' | 'link'): PageLink[] {
  const text = answer.headers.get(header)
  if (text === null) return []
  return text.split(', ').map((link) => {
    const match = /^<([^<>\s]+)>; rel="(\w+)"$/.exec(link)
    if (!match) throw new Error(`not a link: ${link}`)
    const [, address = '', relation = ''] = match
    const mark = address.indexOf('?')
    const parameters = [...new URLSearchParams(address.slice(mark + 1))]
    const kept = parameters.filter(([name]) => name !== 'page' && name !== 'cursor')
    const page = Number(parameters.findLast(([name]) => name === 'page')?.[1])
    return { relation, address: address.slice(0, mark), page, kept }
  })
}
