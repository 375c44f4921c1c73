// The TLS certificate: watches its files, and replaces the workers when it changes.
import type { Config } from '../config/config.ts'
import { errorOf } from '../errors.ts'
import type { Log } from '../log.ts'
import { type Certificate, checkCertificate, readCertificate } from '../os/certificate.ts'
import { readForStart } from './startError.ts'

/**
 * Interval at which the files are read. Notifications of the file system would miss a switched symlink, by which Kubernetes
 * replaces files.
 */
const CHECK_MS = 1_000

/**
 * Reads the certificate that the server presents, and watches its files. Returns null for HTTP without TLS. When the files
 * contain a new valid certificate, `current` returns it, and `onChange` is called. Workers get the text of the certificate, not
 * the files: a worker that replaces a dead worker must present the same certificate as all workers, even if the files have
 * changed. @throws StartError if the certificate is not valid
 */
export function watchCertificates({ tlsCert, tlsKey }: Config, log: Log, onChange: () => void) {
  if (tlsCert === null || tlsKey === null) return null
  const endOf = (certificate: Certificate) => new Date(checkCertificate(certificate).validTo).toISOString()
  let current = readForStart(() => readCertificate(tlsCert, tlsKey))
  let until = readForStart(() => endOf(current))
  let isEndLogged = false
  /**
   * Contents of the files in which the last check found a fault, or the reason why the files could not be read. Empty: the last
   * check found no fault.
   */
  let fault = ''
  /**
   * Number of checks in a row that found this fault. The fault is logged at the second check, because the two files are not
   * written at the same moment.
   */
  let timesFound = 0

  function logEnd() {
    if (isEndLogged || Date.parse(until) > Date.now()) return
    isEndLogged = true
    log.warn('the certificate has ended: clients refuse it', { until })
  }

  function checkFiles() {
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
      timesFound = found === fault ? timesFound + 1 : 1
      fault = found
      if (timesFound === 2) log.warn('the new certificate cannot be used: the old one is kept', { reason, until })
    }
    logEnd()
  }

  logEnd()
  const timer = setInterval(checkFiles, CHECK_MS)
  return { current: () => current, stop: () => clearInterval(timer) }
}
