import { connect } from './postgres.ts'

/** What is notified from now on, as a connection sees it that listens and stands in no table of listeners. */
export async function overhear(url: string) {
  const sql = connect(url)
  const heard: string[] = []
  let fences = 0
  let reached = 0
  await sql.listen('roster_change', (payload) => {
    if (payload.startsWith('fence ')) reached = Number(payload.slice(6))
    else heard.push(payload)
  })
  return {
    /** What was notified by commits since the last call. */
    async take(): Promise<string[]> {
      const fence = ++fences
      await sql.notify('roster_change', `fence ${fence}`)
      while (reached < fence) await Bun.sleep(2)
      return heard.splice(0).sort()
    },
    stop: () => sql.end(),
  }
}
