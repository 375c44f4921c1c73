// Reads the rights again: they follow from rows, groups and the roles file, which may change while the page is open.
import { send } from './api.ts'
import { say } from './notices.tsx'
import { knownStore, type Right, resourcesOf } from './resources.ts'
import { sessionStore } from './session.ts'

/** When they were asked for; the page has loaded them when it was opened. */
let askedMs = performance.now()

/**
 * Asks for the rights again, unless it has done so within `pauseMs`. If they have changed, the page shows what may be done now,
 * and says so.
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
    // Somebody else may ask by now.
    if (knownStore.value !== known || sessionStore.value.session?.id !== known.sessionId) return
    knownStore.set({ ...known, rights, document, resources: resourcesOf(document, rights) })
    say('What you may do here has changed. The page shows what you may do now.')
  } catch {
    // The request that was refused has said why.
  }
}

/** Returns the rights as a text to compare. The time of day is left out, since it changes by itself. */
function textOf(rights: readonly Right[]): string {
  return rights.map(({ text, template }) => (/\{(today|now)\}/.test(template ?? '') ? template : text)).join('\n')
}
