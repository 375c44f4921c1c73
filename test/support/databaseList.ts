const PAGING = /^page(size)?=/i

/**
 * Reads the rows of a page from the database: a stream of the same list is never answered from memory. `url`: of the page.
 * @throws Error for another answer than a stream
 */
export async function databaseList(url: string, headers: Readonly<Record<string, string>>): Promise<unknown[]> {
  const [path, query = ''] = url.split('?')
  const parts = query.split('&')
  const numberOf = (name: string, other: number) =>
    Number(parts.find((part) => part.toLowerCase().startsWith(`${name}=`))?.split('=')[1] ?? other)
  const [page, pageSize] = [numberOf('page', 1), numberOf('pagesize', 20)]
  const target = `${path}?${parts.filter((part) => !PAGING.test(part)).join('&')}`
  const response = await fetch(target, { headers: { ...headers, accept: 'application/x-ndjson' } })
  if (response.status !== 200 || response.body === null)
    throw new Error(`${target} was answered with ${response.status}: ${await response.text()}`)
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (;;) {
    const lines = text.split('\n')
    const { value, done } = lines.length > page * pageSize ? { done: true } : await reader.read()
    if (!done) text += value
    else {
      await reader.cancel()
      return lines.slice((page - 1) * pageSize, Math.min(page * pageSize, lines.length - 1)).map((line) => JSON.parse(line))
    }
  }
}
