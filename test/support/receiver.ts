import type { Json } from './server.ts'

interface Delivery {
  readonly headers: Headers
  readonly text: string
  readonly body: Json
  readonly path: string
}

export interface Receiver {
  readonly url: string
  readonly port: number
  /** All deliveries in order, whatever the response was. */
  readonly deliveries: Delivery[]
  /** Makes the response to a delivery; tests replace it. */
  answer: (delivery: Delivery) => Response | Promise<Response>
  stop(): Promise<void>
}

/** Starts a receiver of webhooks on this machine. */
export function startReceiver(tls?: { key: string; cert: string }): Receiver {
  const deliveries: Delivery[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    ...(tls ? { tls } : {}),
    async fetch(request) {
      const text = await request.text()
      const body = text === '' ? null : JSON.parse(text)
      const delivery = { headers: request.headers, text, body, path: new URL(request.url).pathname }
      deliveries.push(delivery)
      return receiver.answer(delivery)
    },
  })
  const port = server.port as number
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}/hook`,
    port,
    deliveries,
    answer: () => new Response(null, { status: 204 }),
    stop: () => server.stop(true),
  }
  return receiver
}
