import { expect, test } from 'bun:test'
import { changeLogWords } from '../../src/changes/layout.ts'
import { bumpEpoch, ChangeLogReader, ChangeLogWriter, renewLease } from '../../src/changes/log.ts'
import { ChangePublisher } from '../../src/changes/publisher.ts'
import { ChangeSubscriber } from '../../src/changes/subscriber.ts'
import { privateRegion } from '../support/region.ts'

const change = (transaction: number) => ({ transaction, before: null, after: ['1', 'a'] })

function open() {
  const region = privateRegion(changeLogWords(2))
  renewLease(region)
  const subscriber = new ChangeSubscriber(new ChangeLogReader(region), 2 ** 20)
  const publisher = new ChangePublisher(new ChangeLogWriter(region, 0), region)
  const isWhole = () => {
    subscriber.catchUp()
    return subscriber.isWhole
  }
  return { region, publisher, subscriber, isWhole }
}

test('a transaction of others is whole once its last row is taken in, and no other transaction ends it', () => {
  const { publisher, isWhole } = open()
  expect(isWhole()).toBe(true)
  publisher.publishForeign('company', change(7), false)
  expect(isWhole()).toBe(false)
  publisher.publishForeign('company', change(8), true)
  publisher.publishReset('company')
  expect(isWhole()).toBe(false)
  publisher.publishForeign('employee', change(7), true)
  expect(isWhole()).toBe(true)
})

test('what a transaction of this machine has changed beside its rows is whole once that is said', () => {
  const { publisher, isWhole } = open()
  publisher.publishForeign('employee', change(2 ** 33 + 7), false)
  publisher.publish('company', change(2 ** 33 + 7))
  expect(isWhole()).toBe(false)
  publisher.publishFollowed(2 ** 33 + 7)
  expect(isWhole()).toBe(true)
})

test('a transaction whose rows came one by one is whole, and known, once its end is', () => {
  const { region, publisher, subscriber, isWhole } = open()
  publisher.publishForeign('company', change(7), false)
  publisher.publishForeign('employee', change(7), false)
  expect([isWhole(), subscriber.hasPublished(7)]).toEqual([false, false])
  publisher.publishEnd(7)
  expect([isWhole(), subscriber.hasPublished(7)]).toEqual([true, true])
  bumpEpoch(region)
  subscriber.catchUp()
  expect(subscriber.hasPublished(7)).toBe(false)
})

test('rows of this machine, which have flags, do not count', () => {
  const { publisher, isWhole } = open()
  publisher.publish('company', change(9), undefined, false)
  expect(isWhole()).toBe(true)
})

test('a new epoch forgets what was begun', () => {
  const { region, publisher, isWhole } = open()
  publisher.publishForeign('company', change(7), false)
  expect(isWhole()).toBe(false)
  bumpEpoch(region)
  expect(isWhole()).toBe(true)
})
