// Messages about what was just done, such as "Approved": shown for some seconds, and read out by screen readers.
import { useEffect, useState } from 'preact/hooks'
import { Button } from './controls.tsx'
import { sessionStore } from './session.ts'
import { Store } from './store.ts'

interface Notice {
  readonly id: number
  /** Session in which the message was made. The page shows the message, with its undo, only in this session. */
  readonly sessionId: string | undefined
  readonly text: string
  readonly undo: (() => void) | null
}

/** Maximum messages at a time; a new one replaces the oldest. */
const NOTICES_MAX = 3
const SHOWN_MS = 6_000
/** Time that a message with an undo is shown, in ms. It is longer than `SHOWN_MS`, because the reader has to decide. */
const UNDO_MS = 15_000

const noticesStore = new Store<readonly Notice[]>([])
let lastId = 0

/** Shows a message at the edge of the page. `undo`: reverts what the message reports; a button calls it once. */
export function say(text: string, { undo = null }: Partial<Pick<Notice, 'undo'>> = {}): void {
  lastId += 1
  const notice = { id: lastId, sessionId: sessionStore.value.session?.id, text, undo }
  noticesStore.set([...noticesStore.value, notice].slice(-NOTICES_MAX))
}

function dismiss(id: number): void {
  noticesStore.set(noticesStore.value.filter((notice) => notice.id !== id))
}

/**
 * The messages. The element is there before the first message, because screen readers announce only changes of elements that they
 * know.
 */
export function Notices() {
  const own = noticesStore.value.filter(({ sessionId }) => sessionId === sessionStore.value.session?.id)
  return (
    <div class="notices" role="status">
      {own.map((notice) => (
        <Message key={notice.id} {...notice} />
      ))}
    </div>
  )
}

/** One message; it stays as long as the pointer or the focus is on it. */
function Message({ id, text, undo }: Notice) {
  const [isHeld, hold] = useState(false)
  useEffect(() => {
    if (isHeld) return
    const timer = setTimeout(() => dismiss(id), undo ? UNDO_MS : SHOWN_MS)
    return () => clearTimeout(timer)
  }, [isHeld])
  const take = () => {
    dismiss(id)
    undo?.()
  }
  return (
    <p
      class="notice"
      onMouseEnter={() => hold(true)}
      onMouseLeave={() => hold(false)}
      onFocusIn={() => hold(true)}
      onFocusOut={() => hold(false)}
    >
      <span dir="auto">{text}</span>
      {undo && <Button class="link" label="Undo" onClick={take} />}
      <Button class="close" label="×" aria-label="Dismiss message" onClick={() => dismiss(id)} />
    </p>
  )
}
