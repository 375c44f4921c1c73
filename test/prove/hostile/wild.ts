import { connect } from 'node:net'
import { type RawResponse, readResponse } from '../../support/connection.ts'
import type { Attempt } from './attempts.ts'

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'
/** Time in ms without bytes after which the server is assumed to wait for more, and the client disconnects. */
const SILENT_MS = 25
/** The same time within a response, longer because the pieces come late on a busy machine. */
const WITHIN_ANSWER_MS = 5_000

/** Sends bytes over a new connection. Returns the responses, and the bytes that are not part of a response. */
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
    // If the server has closed the connection, bytes to it are answered by a reset.
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
