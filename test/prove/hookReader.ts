import { makeSecret } from '../../src/hooks/delivery.ts'
import { HookStore } from '../../src/hooks/store.ts'
import { loadEntities } from '../../src/registry.ts'
import { until } from '../support/process.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import type { Cluster } from './lists/cluster.ts'

interface Told {
  readonly token: string
  readonly entity: string
  readonly id: number
}

/** Receiver of webhooks. In the end it must have received every change, and changes of one row in order. */
export class HookReader {
  private constructor(
    private readonly store: HookStore,
    private readonly receiver: Receiver,
  ) {}

  static async open({ sql }: Cluster): Promise<HookReader> {
    const store = new HookStore(sql, await loadEntities())
    const receiver = startReceiver()
    await store.add({ url: receiver.url, secret: makeSecret(), events: ['*'] })
    return new HookReader(store, receiver)
  }

  /** Number of deliveries, including repeated ones. */
  get deliveries(): number {
    return this.receiver.deliveries.length
  }

  async untilTold(): Promise<void> {
    await until(async () => {
      const [hook] = await this.store.list()
      return hook?.state === 'active' && hook.waiting === 0
    })
  }

  /**
   * Returns how the deliveries differ from `lines`, the changes that another reader has read. Repeated deliveries may come in any
   * order.
   */
  differences(lines: readonly Told[]): string[] {
    const told = new Map<string, Told>()
    for (const { body } of this.receiver.deliveries) if (!told.has(body.data.token)) told.set(body.data.token, body.data)
    const written = new Set(lines.map(({ token }) => token))
    const found = [...told.keys()].filter((token) => !written.has(token)).map((token) => `the hook was told of ${token} alone`)
    const lasts = new Map<string, number>()
    const places = new Map(lines.map(({ token }, place) => [token, place]))
    for (const { token, entity, id } of told.values()) {
      const [row, place] = [`${entity} ${id}`, places.get(token) ?? 0]
      if (place < (lasts.get(row) ?? 0)) found.push(`the hook was told of ${row} out of order`)
      lasts.set(row, place)
    }
    const missing = lines.filter(({ token }) => !told.has(token))
    return [...found, ...missing.map(({ entity, id }) => `the hook was not told of a line of ${entity} ${id}`)]
  }

  close(): Promise<void> {
    return this.receiver.stop()
  }
}
