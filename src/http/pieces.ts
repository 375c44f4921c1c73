import type { Reply, Streamed } from '../respond/reply.ts'

const PIECE_BYTES = 64 * 1024
/** Shorter bodies go out as they are. */
const WHOLE_BYTES_MAX = 512 * 1024

/**
 * A long body as a stream of pieces, each made when the client has taken the one before: Bun keeps a copy of all that a
 * client has not taken, so that hundreds of slow clients of the docs' script would fill the memory.
 */
export function inPieces(
  body: Exclude<Reply['body'], Streamed>,
  method: string,
): Exclude<Reply['body'], Streamed> | ReadableStream<Uint8Array> {
  if (body === null || typeof body === 'string' || body.length <= WHOLE_BYTES_MAX || method === 'HEAD') return body
  let at = 0
  return new ReadableStream(
    {
      pull(controller) {
        if (at >= body.length) return controller.close()
        controller.enqueue(body.subarray(at, at + PIECE_BYTES))
        at += PIECE_BYTES
      },
    },
    { highWaterMark: 0 },
  )
}
