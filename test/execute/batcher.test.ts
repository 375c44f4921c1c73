import { describe, expect, test } from 'bun:test'
import { Batcher } from '../../src/execute/batcher.ts'
import type { Batch, Batchable } from '../../src/model/batch.ts'
import type { Row, Statement } from '../../src/model/sql.ts'

const numbered: Batch = { text: 'many', rows: 'numbered', distinct: null }
const ordered: Batch = { text: 'many', rows: 'ordered', distinct: null }

const read = (...values: (string | null)[]): Statement => ({ text: 'one', values })
const run = (batch: Batch, ...values: (string | null)[]): Batchable => ({ text: 'one', values, batch })

interface Sent {
  statement: Statement
  way: 'alone' | 'together'
  untilMs: number
  /** `null` says that a batch did nothing. */
  answer(rows: Row[] | null): Promise<void>
  fail(error: Error): Promise<void>
}

/** A database that answers when the test says so. */
function fakeDatabase(waitMsMax = 60_000, runningMsMax = 100) {
  const sent: Sent[] = []
  const send = (way: Sent['way']) => (statement: Statement, untilMs: number) =>
    new Promise<Row[]>((resolve, reject) => {
      const answer = (rows: Row[] | null) => {
        resolve(rows as Row[])
        return turn()
      }
      const fail = (error: Error) => {
        reject(error)
        return turn()
      }
      sent.push({ statement, untilMs, way, answer, fail })
    })
  return {
    batcher: new Batcher({ alone: send('alone'), together: send('together') }, { waitMsMax, runningMsMax }),
    sent,
  }
}

/** Until the event loop has come round, and what became due in it was sent. */
async function turn() {
  for (let time = 0; time < 3; time++) await new Promise((resolve) => setImmediate(resolve))
}

const namesOf = (sent: Sent[]) => sent.map(({ way, statement }) => [way, ...statement.values])
const queuesOf = (batcher: Batcher) => (batcher as unknown as { queues: Map<string, unknown> }).queues.size

describe('what is asked in one turn of the event loop', () => {
  test('is one batch for each key that asks for writes, whose id is no array', async () => {
    const { batcher, sent } = fakeDatabase()
    const asked = ['k', 'l', 'k'].map((asker, index) => batcher.ask({ ...run(ordered, `${index}`, asker), asker }))
    await turn()
    expect(sent.map(({ statement }) => [...statement.values])).toEqual([
      ['{"0","2"}', 'k'],
      ['1', 'l'],
    ])
    await sent[0]?.answer([['a'], ['b']])
    await sent[1]?.answer([['c']])
    expect(await Promise.all(asked)).toEqual([[['a']], [['c']], [['b']]])
  })

  test('equal reads are one, others are not, though their values look alike when put together', async () => {
    const { batcher, sent } = fakeDatabase()
    const all = [['a'], ['b'], ['a'], [null], [''], ['a', 'b'], ['ab'], ['a,b']]
    const answers = Promise.all(all.map((values) => batcher.ask(read(...values))))
    await turn()
    expect(namesOf(sent)).toEqual(all.filter((_, index) => index !== 2).map((values) => ['alone', ...values]))
    for (const { statement, answer } of sent) await answer([statement.values])
    expect(await answers).toEqual(all.map((values) => [values]))
  })
})

describe('what is asked while others run', () => {
  test('waits behind two of its text, then goes together; a read never joins one that was sent before', async () => {
    const { batcher, sent } = fakeDatabase()
    const answers: Promise<Row[]>[] = []
    for (let time = 0; time < 5; time++) {
      answers.push(batcher.ask(read('a')))
      await turn()
    }
    expect(sent).toHaveLength(2)
    for (let next = 0; next < 2; next++) await sent[next]?.answer([[`answer ${next}`]])
    expect(sent).toHaveLength(3)
    await sent[2]?.answer([['answer 2']])
    expect((await Promise.all(answers)).flat(2)).toEqual(['answer 0', 'answer 1', 'answer 2', 'answer 2', 'answer 2'])
  })

  test('is given up when it has waited for too long: each run gets its own end', async () => {
    const { batcher, sent } = fakeDatabase(1)
    for (const value of ['a', 'b']) {
      batcher.ask(run(ordered, value))
      await turn()
    }
    for (const value of ['c', 'd']) batcher.ask(run(ordered, value))
    await Bun.sleep(5)
    for (const { answer } of sent.slice(0, 2)) await answer([])
    expect(namesOf(sent).slice(2)).toEqual([
      ['alone', 'c'],
      ['alone', 'd'],
    ])
    for (const { untilMs } of sent.slice(2)) expect(untilMs).toBeLessThan(performance.now())
  })
})

describe('what goes wrong', () => {
  test('an error of a batch, or of a shared read, reaches all, and nothing is sent again', async () => {
    for (const statements of [[read('a'), read('a')], ['a', 'b'].map((value) => run(numbered, value))]) {
      const { batcher, sent } = fakeDatabase()
      const answers = Promise.allSettled(statements.map((statement) => batcher.ask(statement)))
      await turn()
      await sent[0]?.fail(new Error('lost'))
      expect((await answers).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
      expect(sent).toHaveLength(1)
      expect(queuesOf(batcher)).toBe(0)
    }
  })
})
