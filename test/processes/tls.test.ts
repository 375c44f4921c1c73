import { describe, expect, test } from 'bun:test'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { hasOpenssl, makeCertificate } from '../support/certificate.ts'
import { PATH, renewed, usePlace } from '../support/place.ts'
import { temporaryFolder, workersOf } from '../support/process.ts'
import { headersOf } from '../support/requests.ts'
import { KEY } from '../support/server.ts'
import { launchProcess, startProcess } from '../support/start.ts'

const place = usePlace()

/** Makes two certificates, and files with the first one for a server. */
function certificates() {
  const folders = [temporaryFolder(), temporaryFolder()]
  const [first, second] = folders.map(({ path }) => makeCertificate('DNS:localhost,IP:127.0.0.1', path))
  if (!first || !second) throw new Error('no certificates were made')
  const files = { TLS_CERT: join(place.folder, 'tls.crt'), TLS_KEY: join(place.folder, 'tls.key') }
  const use = ({ certificate, key }: typeof first) => {
    copyFileSync(certificate, files.TLS_CERT)
    copyFileSync(key, files.TLS_KEY)
  }
  use(first)
  return { first, second, files, use }
}

/** Returns the fingerprint of the certificate that a new connection gets. */
function shown(port: number): Promise<string> {
  return new Promise((done, fail) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      done(socket.getPeerCertificate().fingerprint256)
      socket.end()
    })
    socket.once('error', fail)
  })
}

describe('a server with a certificate', () => {
  if (!hasOpenssl) {
    test('TLS is not tested, because openssl is missing', () => undefined)
    return
  }
  test('a server uses a certificate whose files have changed, and keeps the old certificate while the new one is invalid', async () => {
    const { first, second, files, use } = certificates()
    const { server, url } = await startProcess({ ...place.settings, ...files, LOG_LEVEL: 'info' })
    expect(url).toBe(`https://127.0.0.1:${place.port}`)
    const ca = readFileSync(first.certificate, 'utf8')
    const answer = await fetch(`${url}${PATH}`, { headers: headersOf(KEY), tls: { ca } })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('link') ?? '').not.toContain('http:')
    const init = { method: 'POST', headers: headersOf(KEY), body: '{"Name": "Dry Dock"}', tls: { ca } }
    const created = await fetch(`${url}/Companies`, init)
    expect(created.headers.get('location')).toStartWith(`${url}/Companies/`)
    await expect(fetch(`http://127.0.0.1:${place.port}/livez`)).rejects.toThrow()

    const before = await shown(place.port)
    const workers = workersOf(server.pid)
    writeFileSync(files.TLS_CERT, 'no certificate')
    await server.waitFor(/the new certificate cannot be used: the old one is kept/)
    copyFileSync(second.certificate, files.TLS_CERT)
    await server.waitFor(/another key than the one that TLS_CERT is for/)
    expect([await shown(place.port), workersOf(server.pid)]).toEqual([before, workers])

    use(second)
    await renewed(server.pid, 2, workers)
    await server.waitFor(/restart done/)
    expect(await shown(place.port)).not.toBe(before)
    const next = { ca: readFileSync(second.certificate, 'utf8') }
    expect((await fetch(`${url}/livez`, { tls: next })).status).toBe(200)
    // If a worker dies later, its successor has the same certificate.
    const [one = 0] = workersOf(server.pid)
    process.kill(one, 'SIGKILL')
    await renewed(server.pid, 2, [one])
    expect((await fetch(`${url}/livez`, { tls: next, keepalive: false })).status).toBe(200)
  })

  test('a server with an invalid certificate does not start', async () => {
    const { first, second, files } = certificates()
    copyFileSync(second.key, files.TLS_KEY)
    const wrong = launchProcess({ ...place.settings, ...files })
    expect(await wrong.ended).toBe(1)
    await wrong.waitFor(/TLS_KEY has another key than the one that TLS_CERT is for/)
    const gone = launchProcess({ ...place.settings, TLS_CERT: first.certificate, TLS_KEY: '/nowhere/tls.key' })
    expect(await gone.ended).toBe(1)
    await gone.waitFor(/TLS_KEY \/nowhere\/tls\.key cannot be read \(ENOENT\)/)
  })
})
