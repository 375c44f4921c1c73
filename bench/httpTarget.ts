/** A server that answers over HTTP. */
export interface HttpTarget {
  readonly name: string
  /** Default: true. */
  readonly isStored?: boolean
  /** Its rows are those of the database with more indexes. Default: false. */
  readonly isIndexed?: boolean
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The processes whose CPU is its own, with all that they have started. */
  pids(): readonly number[]
  stop(): Promise<void>
}

/** As many as are under way at once. */
const ASKED_AT_ONCE = 16

/** Asks for each of the paths once. @throws Error where one is not answered 200 */
export async function askOnce({ url, headers }: HttpTarget, paths: readonly string[]): Promise<void> {
  const waiting = paths.values()
  const ask = async () => {
    for (const path of waiting) {
      const answer = await fetch(url + path, { headers })
      await answer.arrayBuffer()
      if (answer.status !== 200) throw new Error(`GET ${path} is answered ${answer.status}`)
    }
  }
  await Promise.all(Array.from({ length: ASKED_AT_ONCE }, ask))
}
