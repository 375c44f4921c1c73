// Noninterference (Goguen and Meseguer, 1982): what a key may not see must not change what it sees. Two servers have databases
// that differ only in hidden cells and hidden rows. All answers of both servers to the key must be equal byte for byte.
import { connect, createDatabase } from './postgres.ts'
import { Random } from './random.ts'
import { Interrupted, SETTINGS, Side } from './rightsPairsAnswers.ts'
import { noFindings, type PairsFindings, type PairsOptions } from './rightsPairsReport.ts'
import { Trial } from './rightsPairsTrial.ts'
import { namedViews } from './rightsPairsViews.ts'
import { openServer } from './server.ts'
import { allowSeveralRights } from './severalRights.ts'

/** Number of differences after which no further key is tried. */
const DIFFERENCES_MAX = 5

/** Tries keys one after the other on two servers, and returns the differences between the answers of the two. */
export async function provePairs(options: PairsOptions): Promise<PairsFindings> {
  const refuseSeveralRights = allowSeveralRights()
  const findings = noFindings()
  const [left, right] = await Promise.all([openSide(options), openSide(options)])
  try {
    for (let number = options.from ?? 0; number < (options.from ?? 0) + options.keys; number++) {
      if (findings.differences.length >= DIFFERENCES_MAX) break
      const random = new Random(options.seed ^ Math.imul(number + 1, 0x9e3779b1))
      await new Trial(left, right, random, number, options, findings).run().catch((error) => {
        if (!(error instanceof Interrupted)) throw error
        findings.interrupted++
      })
      // All rows are replaced for each key, and there is no autovacuum.
      if (number % 50 === 49) await Promise.all([left, right].map(({ server }) => server.sql`vacuum`))
    }
  } finally {
    await Promise.all([left.server.stop(), right.server.stop()])
    refuseSeveralRights()
  }
  return findings
}

async function openSide({ environment = {} }: PairsOptions): Promise<Side> {
  const databaseUrl = await createDatabase()
  const sql = connect(databaseUrl)
  // Both servers sign cursors with the same secret.
  await sql`update cursor_secret set secret = 'the secret of both servers'`
  const server = await openServer({
    databaseUrl,
    roles: namedViews.map(({ text }) => text).join('\n'),
    environment: { ...SETTINGS, ...environment },
    hasForeignRows: true,
  })
  const { components } = (await server.get('/openapi.json', { authorization: '' })).body
  return new Side(server, JSON.stringify(components.examples))
}
