// The TLS certificate: watches its files, and replaces the workers once they have another one.
import type { Config } from '../config/config.ts'
import { errorOf } from '../errors.ts'
import type { Log } from '../log.ts'
import { type Certificate, checkCertificate, readCertificate } from '../os/certificate.ts'
import { readForStart } from './startError.ts'

/** Between looks at the files: notices of changes miss links that are set to another folder, as those of Kubernetes are. */
const LOOK_MS = 1_000

/**
 * The certificate that the server presents to clients; null: HTTP in clear text. When its files contain another valid one, that
 * is presented instead, and `onChange` is called. Workers get its text, not the files: a worker that replaces a dead one must
 * present the same certificate as the others, even if the files have changed. @throws StartError where it cannot be used
 */
export function watchCertificates({ tlsCert, tlsKey }: Config, log: Log, onChange: () => void) {
  if (tlsCert === null || tlsKey === null) return null
  const endOf = (certificate: Certificate) => new Date(checkCertificate(certificate).validTo).toISOString()
  let current = readForStart(() => readCertificate(tlsCert, tlsKey))
  let until = readForStart(() => endOf(current))
  let isEndLogged = false
  /** Fault that was found last; it is logged at the second look, because one of the two files is written first. */
  let [fault, looks] = ['', 0]

  function logEnd() {
    if (isEndLogged || Date.parse(until) > Date.now()) return
    isEndLogged = true
    log.warn('the certificate has ended: clients refuse it', { until })
  }

  function look() {
    let found = ''
    try {
      const next = readCertificate(tlsCert as string, tlsKey as string)
      found = JSON.stringify(next)
      if (found !== JSON.stringify(current)) {
        until = endOf(next)
        current = next
        isEndLogged = false
        log.info('another certificate: workers are replaced by ones that have it', { until })
        onChange()
      }
      fault = ''
    } catch (error) {
      const { message: reason } = errorOf(error)
      found ||= reason
      looks = found === fault ? looks + 1 : 1
      fault = found
      if (looks === 2) log.warn('the new certificate cannot be used: the old one is kept', { reason, until })
    }
    logEnd()
  }

  logEnd()
  const timer = setInterval(look, LOOK_MS)
  return { current: () => current, stop: () => clearInterval(timer) }
}
