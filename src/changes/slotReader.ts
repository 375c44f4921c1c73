import { type Following, follow } from './follow.ts'
import { type SlotAddresses, SlotConnection, type SlotHandlers } from './slotConnection.ts'

/** Follows every write to the database from outside this machine by a logical slot. */
export function readSlot(addresses: SlotAddresses, handlers: SlotHandlers): Following {
  return follow(() => new SlotConnection(addresses, handlers), handlers)
}
