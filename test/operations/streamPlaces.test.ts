import { expect, test } from 'bun:test'
import { StreamPlaces } from '../../src/operations/streamPlaces.ts'

const refusal = (message: string) => expect.objectContaining({ code: 'ServiceUnavailable', message })
const OWN = 'The key has 2 streams under way here, which is the most for one.'
const ALL = 'The server has 3 streams under way, which is the most.'
const REMEDY = 'Retry after the seconds in Retry-After, or ask for pages.'

test('a key has so many places, and all keys together so many', () => {
  const places = new StreamPlaces(3, 2)
  places.take('a')
  places.take('a')
  expect(() => places.take('a')).toThrow(refusal(`${OWN} ${REMEDY}`))
  places.take('b')
  expect(() => places.take('b')).toThrow(refusal(`${ALL} ${REMEDY}`))
  expect(() => places.take('c')).toThrow(refusal(`${ALL} ${REMEDY}`))
})

test('what was refused has taken no place', () => {
  const places = new StreamPlaces(3, 2)
  const releases = [places.take('a'), places.take('a')]
  for (let turn = 0; turn < 5; turn++) expect(() => places.take('a')).toThrow()
  for (const release of releases) release()
  places.take('b')
  places.take('b')
  places.take('a')
})

test('a place is given back once, however often that is said', () => {
  const places = new StreamPlaces(2, 2)
  const release = places.take('a')
  places.take('b')
  release()
  release()
  places.take('a')
  expect(() => places.take('a')).toThrow(refusal(`The server has 2 streams under way, which is the most. ${REMEDY}`))
})
