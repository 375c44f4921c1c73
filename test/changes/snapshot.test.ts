import { expect, test } from 'bun:test'
import { Snapshot } from '../../src/changes/snapshot.ts'

test('sees what ended before it, and nothing that ran or came later', () => {
  const snapshot = new Snapshot('10:20:10,14,19')
  const seen = Array.from({ length: 30 }, (_, transaction) => transaction).filter((one) => snapshot.sees(one))
  expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 17, 18])
})

test('nothing ran: there is no list', () => {
  const snapshot = new Snapshot('20:20:')
  expect([snapshot.sees(19), snapshot.sees(20)]).toEqual([true, false])
})

test('transactions of 64 bits', () => {
  const epoch = 2 ** 40
  const snapshot = new Snapshot(`${epoch}:${epoch + 2}:${epoch}`)
  expect([epoch - 1, epoch, epoch + 1, epoch + 2].map((one) => snapshot.sees(one))).toEqual([true, false, true, false])
})
