// Exit code 0 where the server of this machine answers requests, by the settings of this environment.
import { get as getPlain } from 'node:http'
import { get as getSafely } from 'node:https'

const { HOST = '127.0.0.1', PORT = '3000', TLS_CERT = '' } = process.env
const host = HOST === '0.0.0.0' || HOST === '::' ? 'localhost' : HOST
// The certificate is for the name that clients use.
const options = { host, port: Number(PORT), path: '/readyz', timeout: 4_000, rejectUnauthorized: false }
const request = (TLS_CERT === '' ? getPlain : getSafely)(options, ({ statusCode }) => {
  process.exit(statusCode === 200 ? 0 : 1)
})
request.on('timeout', () => request.destroy(new Error('no answer')))
request.on('error', ({ message }) => {
  console.error(message)
  process.exit(1)
})
