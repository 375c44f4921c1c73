import { type Following, follow } from './follow.ts'
import { ListenerConnection, type ListenerHandlers } from './listenerConnection.ts'

/** Follows every write to the database from outside this machine by NOTIFY. */
export function listenForChanges(url: string, handlers: ListenerHandlers): Following {
  return follow(() => new ListenerConnection(url, handlers), handlers)
}
