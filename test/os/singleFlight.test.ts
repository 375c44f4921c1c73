import { expect, test } from 'bun:test'
import { SingleFlight } from '../../src/os/singleFlight.ts'

test('who asks while a question is under way gets the answer to the next one, and all of them the same', async () => {
  const asked: PromiseWithResolvers<number>[] = []
  const flight = new SingleFlight(() => {
    const question = Promise.withResolvers<number>()
    asked.push(question)
    return question.promise
  })
  const first = flight.call()
  const [second, third] = [flight.call(), flight.call()]
  expect(asked).toHaveLength(1)
  asked[0]?.resolve(1)
  expect(await first).toBe(1)
  await Promise.resolve()
  expect(asked).toHaveLength(2)
  const fourth = flight.call()
  asked[1]?.resolve(2)
  expect(await Promise.all([second, third])).toEqual([2, 2])
  asked[2]?.resolve(3)
  expect(await fourth).toBe(3)
  const fifth = flight.call()
  expect(asked).toHaveLength(4)
  asked[3]?.reject(new Error('away'))
  await expect(fifth).rejects.toThrow('away')
  const sixth = flight.call()
  asked[4]?.resolve(6)
  expect(await sixth).toBe(6)
})

test('a question that fails does not fail the next one', async () => {
  let turn = 0
  const flight = new SingleFlight(async () => {
    await Bun.sleep(1)
    if (turn++ === 0) throw new Error('away')
    return turn
  })
  const answers = await Promise.allSettled([flight.call(), flight.call(), flight.call()])
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
  expect(turn).toBe(2)
})
