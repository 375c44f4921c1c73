// The floor `constant`: what HTTP itself costs. Bun.serve answers with the same bodies as the server, made once.
// Answers come as JSON on stdin.

/** What the server has answered to one operation. */
export interface ConstantAnswer {
  readonly method: string
  /** Matches path and query of a request. */
  readonly pattern: string
  readonly status: number
  readonly body: string
}

const answers = ((await Bun.stdin.json()) as ConstantAnswer[]).map(({ method, pattern, status, body }) => ({
  method,
  regExp: new RegExp(pattern),
  init: { status, headers: { 'Content-Type': 'application/json; charset=utf-8' } },
  body,
}))
const [only] = answers

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: answers.length === 1 && only ? () => new Response(only.body, only.init) : answerOne,
})
console.log(`listens on ${server.url.origin}`)

function answerOne({ method, url }: Request): Response {
  const target = url.slice(url.indexOf('/', 8))
  const answer = answers.find((candidate) => candidate.method === method && candidate.regExp.test(target))
  return answer ? new Response(answer.body, answer.init) : new Response(null, { status: 404 })
}
