// The floor `constant`: what HTTP itself costs. Bun.serve answers with bodies made once, which come as JSON on stdin.
import type { ConstantAnswer } from '../floor.ts'

const answers = new Map(
  ((await Bun.stdin.json()) as ConstantAnswer[]).map(({ method, status, body }) => {
    return [method, { body, init: { status, headers: { 'Content-Type': 'application/json; charset=utf-8' } } }]
  }),
)

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch({ method }) {
    const { body, init } = answers.get(method) ?? { body: null, init: { status: 404 } }
    return new Response(body, init)
  },
})
console.log(`listens on ${server.url.origin}`)
