import { connect } from 'node:net'
import { type RawResponse, readResponse } from '../../support/connection.ts'
import type { Attempt } from './attempts.ts'

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'
/** Silence after which a server counts as waiting for more bytes, and the client leaves. */
const SILENT_MS = 25
/** Longer silence within a response, whose pieces come late from a busy machine. */
const WITHIN_ANSWER_MS = 5_000

/** Sends bytes over a new connection; returns the responses, and bytes that are not a response. */
export function sendWild(url: string, { pieces, leaves }: Attempt): Promise<{ answers: RawResponse[]; rest: string }> {
  const { hostname, port } = new URL(url)
  return new Promise((done, fail) => {
    const chunks: Buffer[] = []
    const socket = connect(Number(port), hostname, () => {
      for (const piece of pieces) socket.write(piece)
      if (leaves) socket.end(() => socket.destroy())
    })
    let timer = setTimeout(() => socket.destroy(), 5_000)
    const wait = () => {
      clearTimeout(timer)
      const isWithin = chunks.at(-1) !== undefined && readAll(Buffer.concat(chunks)).rest.startsWith('HTTP/1.1 ')
      timer = setTimeout(() => socket.destroy(), isWithin ? WITHIN_ANSWER_MS : SILENT_MS)
    }
    socket.on('connect', wait)
    socket.on('data', (chunk: Buffer) => {
      chunks.push(Buffer.from(chunk))
      wait()
    })
    // Bytes to a connection that the server has closed are answered by a reset.
    socket.on('error', () => undefined)
    socket.on('close', () => {
      clearTimeout(timer)
      try {
        done(readAll(Buffer.concat(chunks)))
      } catch (error) {
        fail(error)
      }
    })
  })
}

function readAll(bytes: Buffer): { answers: RawResponse[]; rest: string } {
  const answers: RawResponse[] = []
  let at = 0
  for (let next = readResponse(bytes, false); next; next = readResponse(bytes.subarray(at), false)) {
    answers.push(next.response)
    at += next.length
  }
  return { answers, rest: bytes.subarray(at).toString('latin1').replaceAll(CONTINUE, '') }
}
