import { expect, test } from 'bun:test'
import { Questions } from '../../src/admit/questions.ts'
import { until } from '../support/process.ts'
import { makeKey } from '../support/server.ts'

const { record } = makeKey()

test('a few are sent at once, a few more with time, and what is over them is answered by nothing', async () => {
  const sent: string[] = []
  const questions = new Questions(async (id) => {
    sent.push(id)
    return record
  })
  const ids = Array.from({ length: 30 }, (_, index) => String(index))
  const answers = await Promise.all(ids.map((id) => questions.ask(id)))
  expect(sent).toEqual(ids.slice(0, 20))
  expect(answers).toEqual(ids.map((_, index) => (index < 20 ? record : null)))
  await until(async () => (await questions.ask('later')) === record)
  expect(sent).toEqual([...ids.slice(0, 20), 'later'])
})

test('equal ones are one; one that finds nothing is sent once more for those that came after it', async () => {
  const sent: ((answer: typeof record | null) => void)[] = []
  const questions = new Questions(() => new Promise((resolve) => sent.push(resolve)))
  const first = questions.ask('a')
  const later = Promise.all([questions.ask('a'), questions.ask('a'), questions.ask('a')])
  expect(sent.length).toBe(1)
  sent[0]?.(null)
  expect(await first).toBeNull()
  await until(() => sent.length === 2)
  sent[1]?.(record)
  expect(await later).toEqual([record, record, record])
  expect(sent.length).toBe(2)
})

test('one that fails leaves nothing behind', async () => {
  let isAway = true
  const questions = new Questions(async () => {
    if (isAway) throw new Error('away')
    return record
  })
  expect(questions.ask('a')).rejects.toThrow('away')
  await until(async () => (await questions.ask('b').catch(() => null)) === null)
  isAway = false
  expect(await questions.ask('a')).toEqual(record)
})
