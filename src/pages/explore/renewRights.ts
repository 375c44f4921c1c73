// Reads the rights again. They can change while the page is open, because they depend on rows, on the person's groups and on the
// roles file.
import { send } from './api.ts'
import { say } from './notices.tsx'
import { knownStore, type Right, resourcesOf } from './resources.ts'
import { sessionStore } from './session.ts'

/** Time of the last request for the rights, in ms since the page was opened. The page loads the rights when it is opened. */
let askedMs = performance.now()

/**
 * Reads the rights again, unless they were read within the last `pauseMs`. If they have changed, the page shows what the reader
 * may do now, and says so.
 */
export async function renewRights(pauseMs = 0): Promise<void> {
  const nowMs = performance.now()
  if (nowMs - askedMs < pauseMs) return
  askedMs = nowMs
  const known = knownStore.value
  try {
    const rights: readonly Right[] = await (await send('Rights')).json()
    if (textOf(rights) === textOf(known.rights)) return
    const document = await (await send('openapi.json')).json()
    // The rights are dropped if the session of the tab has changed meanwhile.
    if (knownStore.value !== known || sessionStore.value.session?.id !== known.sessionId) return
    knownStore.set({ ...known, rights, document, resources: resourcesOf(document, rights) })
    say('What you may do here has changed. The page shows what you may do now.')
  } catch {
    // Without an answer, the page keeps the rights that it knows, and shows no message.
  }
}

/**
 * Returns the rights as one text, to compare them. A right whose text contains the day or the time is compared by its template,
 * because its text changes by itself.
 */
function textOf(rights: readonly Right[]): string {
  return rights.map(({ text, template }) => (/\{(today|now)\}/.test(template ?? '') ? template : text)).join('\n')
}
