export interface Answers {
  /** Answers by status. */
  statuses: Record<number, number>
  /** Of the answers of 2xx: X-RateLimit-Remaining, each number once if nobody was counted twice or not at all. */
  remaining: number[]
}

/** Sends so many requests over so many connections, as fast as they are answered, and counts the answers. */
export async function ask(url: string, key: string, requests: number, connections: number): Promise<Answers> {
  const answers: Answers = { statuses: {}, remaining: [] }
  let left = requests
  async function client() {
    while (left-- > 0) {
      const { status, headers } = await fetch(url, { headers: { authorization: `ApiKey ${key}` } })
      answers.statuses[status] = (answers.statuses[status] ?? 0) + 1
      if (status < 300) answers.remaining.push(Number(headers.get('x-ratelimit-remaining')))
    }
  }
  await Promise.all(Array.from({ length: connections }, client))
  return answers
}
