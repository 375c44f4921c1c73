import { connectTo } from '../execute/connect.ts'

/** Answers to writes under a key are kept for at least this long. D43 */
const KEPT_HOURS = 24
/** Rows of one statement: it must not hold anyone up. */
const SLICE = 1_000
/** Between slices while there are more, and between looks. */
const SLICE_PAUSE_MS = 250
const LOOK_PAUSE_MS = 60_000

interface Options {
  sliceRows?: number
  slicePauseMs?: number
  lookPauseMs?: number
}

/**
 * Deletes answers to writes under an Idempotency-Key once they are old, in slices; other servers on the database may do so
 * too. Where the database does not answer, it looks again later.
 */
export class OldAnswers {
  private readonly sql: ReturnType<typeof connectTo>
  private readonly stopping = Promise.withResolvers<void>()
  private isStopping = false
  private readonly ended: Promise<void>

  constructor(
    url: string,
    private readonly options: Options = {},
  ) {
    // The connection is there while it is used: it is none that a server has all the time.
    this.sql = connectTo(url, {
      max: 1,
      prepare: false,
      idle_timeout: 1,
      connection: { application_name: 'roster', statement_timeout: 3_000 },
    })
    this.ended = this.run()
  }

  async stop(): Promise<void> {
    this.isStopping = true
    this.stopping.resolve()
    await this.sql.end({ timeout: 0 })
    await this.ended
  }

  private async run() {
    const { sliceRows = SLICE, slicePauseMs = SLICE_PAUSE_MS, lookPauseMs = LOOK_PAUSE_MS } = this.options
    while (!this.isStopping) {
      const deleted = await this.deleteSlice(sliceRows).catch(() => 0)
      await this.pause(deleted === sliceRows ? slicePauseMs : lookPauseMs)
    }
  }

  private async deleteSlice(rows: number): Promise<number> {
    const deleted = await this.sql`
      delete from idempotency_key where id = any (array(
        select id from idempotency_key where created < now() - make_interval(hours => ${KEPT_HOURS})
        order by created limit ${rows} for update skip locked
      ))`
    return deleted.count
  }

  private async pause(ms: number) {
    let timer: Timer | undefined
    const passed = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms)
    })
    await Promise.race([passed, this.stopping.promise])
    clearTimeout(timer)
  }
}
