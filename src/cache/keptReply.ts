import type { Reply } from '../respond/reply.ts'

/** Its headers are another object, since every answer adds its own. */
export function copyOf(reply: Reply): Reply {
  return { ...reply, headers: { ...reply.headers } }
}
