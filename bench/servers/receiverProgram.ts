// Takes webhooks at once, and answers GET with how many there were.
let taken = 0
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    if (request.method === 'GET') return new Response(String(taken))
    await request.arrayBuffer()
    taken++
    return new Response(null, { status: 204 })
  },
})
console.log(server.url.href)
