import { beforeEach, expect, test } from 'bun:test'
import { Inclusion } from '../../src/changes/inclusion.ts'
import { changeLogWords } from '../../src/changes/layout.ts'
import { bumpEpoch, ChangeLogReader, renewLease } from '../../src/changes/log.ts'
import { ChangeSubscriber } from '../../src/changes/subscriber.ts'
import { monotonicMs } from '../../src/os/clock.ts'
import type { Region } from '../../src/os/region.ts'
import { privateRegion } from '../support/region.ts'

let region: Region
let inclusion: Inclusion
beforeEach(() => {
  region = privateRegion(changeLogWords(1))
  inclusion = new Inclusion(new ChangeSubscriber(new LastingReader(region), 1_000), region)
})

/** Of a lease that does not run out while a busy machine stands still. */
class LastingReader extends ChangeLogReader {
  override get isLive() {
    return true
  }
}

/** Whether it is pending still while the lease is renewed up to `untilMs`, as a pulse does that was sent then. */
async function waitsWith(waiting: Promise<unknown>, untilMs: number): Promise<boolean> {
  let isPending = true
  waiting.then(() => (isPending = false))
  for (let turn = 0; turn < 5; turn++) {
    renewLease(region, untilMs)
    await Bun.sleep(3)
  }
  return isPending
}

test('what was shown is included once a pulse was answered that was sent later', async () => {
  const pulseMs = monotonicMs()
  renewLease(region, pulseMs)
  const waiting = inclusion.settled()
  expect(await waitsWith(waiting, pulseMs)).toBe(true)
  renewLease(region)
  await waiting
})

test('what is included is waited for once, in each epoch', async () => {
  renewLease(region, monotonicMs() - 1_000)
  const waiting = inclusion.settledBefore(100, 100)
  expect(await waitsWith(waiting, monotonicMs() - 1_000)).toBe(true)
  renewLease(region)
  await waiting
  renewLease(region, monotonicMs() - 1_000)
  await inclusion.settledBefore(100, 100)
  expect(await waitsWith(inclusion.settledBefore(101, 101), monotonicMs() - 1_000)).toBe(true)
  bumpEpoch(region)
  const again = inclusion.settledBefore(100, 100)
  expect(await waitsWith(again, monotonicMs() - 1_000)).toBe(true)
  renewLease(region)
  await again
})

test('or once lists do not come from memory any more', async () => {
  renewLease(region)
  const limited = new Inclusion(new ChangeSubscriber(new ChangeLogReader(region), 1_000), region)
  await limited.settled()
  expect(limited.isLive).toBe(false)
})
