import type { Reply, TextReply } from '../respond/reply.ts'

/** As bytes, which each answer would make anew from a text. */
export function encoded(reply: TextReply) {
  return { ...reply, body: Buffer.from(reply.body) }
}

/** Its headers are another object, since every answer adds its own. */
export function copyOf(reply: Reply): Reply {
  return { ...reply, headers: { ...reply.headers } }
}
