import type { Rule } from '../../src/model/limits.ts'

export interface Answers {
  /** Number of responses by status. */
  statuses: Record<number, number>
  /** X-RateLimit-Remaining of 2xx responses; each number occurs once if every request was counted exactly once. */
  remaining: number[]
}

/** Sends `requests` requests, each as soon as a connection is free, and counts the responses. */
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

/** A request with its times in ms by the client's clock, with fractions. */
interface Exchange {
  readonly sent: number
  readonly answered: number
  readonly admitted: boolean
}

export interface Watched {
  admitted: number
  refused: number
  /**
   * Number of admissions that break the limit: `limit` + 1 admissions, of which the first was sent and the last was answered
   * within less than a period.
   */
  overAdmissions: number
  /**
   * Number of refused requests that fitted into the limit by at least a ms, whenever between sending and response they were
   * decided.
   */
  falseRefusals: number
}

/**
 * Sends requests without a pause, and checks all responses. Each admission that leaves the window makes room for the next
 * request.
 */
export async function watch(
  url: string,
  key: string,
  rule: Pick<Rule, 'limit' | 'periodMs'>,
  forMs: number,
  connections: number,
): Promise<Watched> {
  const exchanges: Exchange[] = []
  const endMs = performance.now() + forMs
  async function client() {
    for (let sent = performance.now(); sent < endMs; sent = performance.now()) {
      const response = await fetch(url, { headers: { authorization: `ApiKey ${key}` } })
      exchanges.push({ sent, answered: performance.now(), admitted: response.status === 200 })
      if (response.status !== 200 && response.status !== 429) throw new Error(`the answer was ${response.status}`)
      await response.arrayBuffer()
    }
  }
  await Promise.all(Array.from({ length: connections }, client))
  return judgeExchanges(exchanges, rule)
}

function judgeExchanges(exchanges: readonly Exchange[], { limit, periodMs }: Pick<Rule, 'limit' | 'periodMs'>): Watched {
  const admitted = exchanges.filter((exchange) => exchange.admitted).sort((one, other) => other.sent - one.sent)
  const refused = exchanges.filter((exchange) => !exchange.admitted)
  /** Times, in ascending order, of responses to requests that were sent at the same time as this one or later. */
  const answers: number[] = []
  let overAdmissions = 0
  for (const { sent, answered } of admitted) {
    const place = answers.findIndex((other) => other > answered)
    answers.splice(place === -1 ? answers.length : place, 0, answered)
    if ((answers[limit] ?? Number.POSITIVE_INFINITY) - sent < periodMs) overAdmissions++
  }
  const mayCount = (refusal: Exchange, { sent, answered }: Exchange) =>
    answered > refusal.sent - periodMs - 1 && sent < refusal.answered
  const falseRefusals = refused.filter(
    (refusal) => admitted.filter((admission) => mayCount(refusal, admission)).length < limit,
  ).length
  return { admitted: admitted.length, refused: refused.length, overAdmissions, falseRefusals }
}
