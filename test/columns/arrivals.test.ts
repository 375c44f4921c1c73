import { expect, test } from 'bun:test'
import { Arrivals } from '../../src/columns/arrivals.ts'

test('what comes in one turn of the event loop goes on together, step by step', async () => {
  const arrivals = new Arrivals()
  const steps: string[] = []
  const list = async (name: string) => {
    steps.push(`${name} comes`)
    await arrivals.next()
    steps.push(`${name} is found`)
    await null
    steps.push(`${name} is written`)
  }
  await Promise.all([list('a'), Promise.resolve().then(() => list('b'))])
  expect(steps).toEqual(['a comes', 'b comes', 'a is found', 'b is found', 'a is written', 'b is written'])
})

test('what comes in a later turn does not hold up what came before', async () => {
  const arrivals = new Arrivals()
  const first = arrivals.next()
  await first
  const second = arrivals.next()
  expect(second).not.toBe(first)
  expect(await second).toBe(false)
})
