import { expect, test } from 'bun:test'
import { TransactionEnds } from '../../src/changes/transactionEnds.ts'

/** Statements that are answered when a test says so. */
function open() {
  const asked: PromiseWithResolvers<void>[] = []
  const ended: number[] = []
  const ask = () => {
    const question = Promise.withResolvers<void>()
    asked.push(question)
    return question.promise
  }
  return { asked, ended, ends: new TransactionEnds(ask, (transaction) => ended.push(transaction)) }
}

const turns = () => new Promise((resolve) => setImmediate(resolve))

test('a transaction ends with the answer to a statement that was sent after its last row was heard', async () => {
  const { asked, ended, ends } = open()
  ends.note(7)
  ends.note(7)
  expect(asked).toHaveLength(1)
  asked[0]?.resolve()
  await turns()
  // The second row came when the statement was under way.
  expect([ended, asked.length]).toEqual([[], 2])
  asked[1]?.resolve()
  await turns()
  expect([ended, asked.length]).toEqual([[7], 2])
})

test('or where the next one begins, of this machine too, whose own ends are not said', async () => {
  const { asked, ended, ends } = open()
  ends.note(7)
  ends.note(8)
  expect(ended).toEqual([7])
  ends.note(null)
  expect(ended).toEqual([7, 8])
  asked[0]?.resolve()
  await turns()
  expect([ended, asked.length]).toEqual([[7, 8], 1])
  ends.note(9)
  expect(asked).toHaveLength(2)
})

test('none ends with a connection that is lost', async () => {
  const { asked, ended, ends } = open()
  ends.note(7)
  asked[0]?.reject(new Error('lost'))
  await turns()
  expect(ended).toEqual([])
})
