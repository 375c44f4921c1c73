import { expect, test } from 'bun:test'
import { createConnection, type Socket } from 'node:net'
import { headers, PATH, usePlace } from '../support/place.ts'
import { startProcess } from '../support/start.ts'

const place = usePlace()
const IDLE = 5_000

function connected(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host: '127.0.0.1', port }, () => resolve(socket))
    socket.on('error', reject)
  })
}

test(`requests are answered while ${IDLE} connections send nothing, or only the first bytes of a request`, async () => {
  const { server, url } = await startProcess(place.settings)
  const idle: Socket[] = []
  while (idle.length < IDLE) idle.push(...(await Promise.all(Array.from({ length: 250 }, () => connected(place.port)))))
  for (const [index, socket] of idle.entries()) if (index % 2 === 0) socket.write('GET /Companies HTTP/1.1\r\nHo')
  const answers = await Promise.all(Array.from({ length: 40 }, () => fetch(url + PATH, { headers, keepalive: false })))
  expect(answers.map(({ status }) => status)).toEqual(Array(40).fill(200))
  for (const socket of idle) socket.destroy()
  expect(await server.stop()).toBe(0)
  const lines = server
    .output()
    .split('\n')
    .filter((line) => !line.includes('the role of DATABASE_URL'))
  expect(lines.filter((line) => / (warn|error) /.test(line))).toEqual([])
})
