import { execFileSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** True if the machine has a program that makes certificates. */
export const hasOpenssl = Bun.which('openssl') !== null

/** Makes a self-signed certificate for names such as `DNS:localhost,IP:127.0.0.1`; returns the paths of its files. */
export function makeCertificate(names: string, folder = mkdtempSync(join(tmpdir(), 'roster-certificate-'))) {
  const [certificate, key] = [join(folder, 'own.pem'), join(folder, 'own.key')]
  const own = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-days', '2', '-nodes']
  const subject = ['-subj', '/CN=localhost', '-addext', `subjectAltName=${names}`]
  execFileSync('openssl', ['req', '-x509', ...own, ...subject, '-keyout', key, '-out', certificate], {
    stdio: 'ignore',
  })
  return { certificate, key }
}
