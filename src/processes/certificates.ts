// The TLS certificate: watches its files, and replaces the workers once they have another one.
import type { Config } from '../config/config.ts'
import type { Log } from '../log.ts'
import { type Certificate, checkCertificate, daysLeft, readCertificate } from '../os/certificate.ts'
import { readForStart } from './startError.ts'

/** Between looks at the files: notices of changes miss links that are set to another folder, as those of Kubernetes are. */
const LOOK_MS = 1_000

/**
 * The certificate that clients are shown, for as long as the server runs: once its files have another that is whole, that one.
 * Null stands for none, where the server speaks HTTP in clear text. Workers get the texts, since the runtime cannot give a
 * listener another certificate, and one that replaces a dead worker must have what the others have, whatever the files have by
 * then.
 */
export class Certificates {
  private readonly timer: Timer
  /** Fault that was found last; it is logged at the second look, because one of the two files is written first. */
  private wrong: { readonly found: string; isSaid: boolean } | null = null

  /** `onChange`: there is another. @throws StartError where it cannot be used */
  static open(config: Config, log: Log, onChange: () => void): Certificates | null {
    const { tlsCert, tlsKey } = config
    if (tlsCert === null || tlsKey === null) return null
    const current = readForStart(() => {
      const read = readCertificate(tlsCert, tlsKey)
      checkCertificate(read)
      return read
    })
    return new Certificates([tlsCert, tlsKey], current, log, onChange)
  }

  private constructor(
    private readonly files: readonly [cert: string, key: string],
    public current: Certificate,
    private readonly log: Log,
    private readonly onChange: () => void,
  ) {
    this.warn()
    this.timer = setInterval(() => this.look(), LOOK_MS)
  }

  stop(): void {
    clearInterval(this.timer)
  }

  private look() {
    let found = ''
    try {
      const next = readCertificate(...this.files)
      found = JSON.stringify(next)
      if (next.cert === this.current.cert && next.key === this.current.key) {
        this.wrong = null
        return
      }
      checkCertificate(next)
      this.current = next
      this.wrong = null
      this.log.info('another certificate: workers are replaced by ones that have it', { until: this.validTo() })
      this.warn()
      this.onChange()
    } catch (error) {
      const { message: reason } = error as Error
      found ||= reason
      if (this.wrong?.found !== found) this.wrong = { found, isSaid: false }
      else if (!this.wrong.isSaid) {
        this.wrong.isSaid = true
        this.log.warn('the new certificate cannot be used: the old one is kept', { reason, until: this.validTo() })
      }
    }
  }

  private validTo(): string {
    return new Date(checkCertificate(this.current).validTo).toISOString()
  }

  private warn() {
    if (daysLeft(checkCertificate(this.current)) < 0)
      this.log.warn('the certificate has ended: clients refuse it', { until: this.validTo() })
  }
}
