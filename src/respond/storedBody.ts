// Bodies that never change: gzipped once for clients that accept gzip, and answered by 304 for clients that have them already.
import { hasWeakly, readTags } from '../model/entityTag.ts'
import { takesGzip } from '../model/preferences.ts'
import type { Reply } from './reply.ts'

/** Minimum size for gzip: shorter bodies fit into one packet as they are. */
const GZIP_BYTES_MIN = 1_200

/** A body with a weak tag, which is the same for both encodings. RFC 9110, 8.8.3 and 13.1.2. */
export class StoredBody {
  private readonly headers: Readonly<Record<string, string>>
  /** The entity tag without its quotes. */
  private readonly opaque: string
  private readonly plain: Uint8Array<ArrayBuffer>
  private readonly gzipped: Uint8Array<ArrayBuffer> | null

  /**
   * `headers` are sent with every response; only a 304 leaves out `Content-Type`. `Vary` includes `Accept-Encoding` if the body
   * has two encodings.
   */
  constructor(body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string>) {
    this.plain = typeof body === 'string' ? new TextEncoder().encode(body) : body
    this.gzipped = this.plain.length < GZIP_BYTES_MIN ? null : Bun.gzipSync(this.plain)
    this.opaque = Bun.hash(this.plain).toString(36)
    const vary = [headers.Vary ?? [], this.gzipped ? 'Accept-Encoding' : []].flat().join(', ')
    this.headers = { ...headers, ETag: `W/"${this.opaque}"`, ...(vary === '' ? {} : { Vary: vary }) }
  }

  reply(request: Headers): Reply {
    const headers = { ...this.headers }
    const asked = readTags(request.get('if-none-match') ?? '')
    if (asked !== null && hasWeakly(asked, this.opaque)) {
      delete headers['Content-Type']
      return { status: 304, headers, body: null }
    }
    if (this.gzipped === null || !takesGzip(request.get('accept-encoding'))) return { status: 200, headers, body: this.plain }
    headers['Content-Encoding'] = 'gzip'
    return { status: 200, headers, body: this.gzipped }
  }
}
