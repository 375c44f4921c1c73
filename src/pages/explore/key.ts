// The API key of this tab: kept in its session storage, taken from a form or a link, forgotten when it is refused.
import { forgetText, keepText, readText } from './storage.ts'
import { Store } from './store.ts'
import { decodeText } from './view.ts'

const NAME = 'roster.key'

/** The key of this tab, which ends with it, and why the server has refused one. */
export const keyStore = new Store({ key: readText('sessionStorage', NAME), refusal: '' })

export function keepKey(key: string): void {
  // No header can carry some others, such as the … of a key that was copied in part.
  if (/[^\x21-\x7e]/.test(key)) forgetKey('The key has characters that no key has.')
  else {
    keepText('sessionStorage', NAME, key)
    keyStore.set({ key, refusal: '' })
  }
}

/** Forgets the key. `refusal`: the server's reason; empty: the reader asked for it. */
export function forgetKey(refusal = ''): void {
  forgetText('sessionStorage', NAME)
  keyStore.set({ key: null, refusal })
}

/** Takes the key of a link such as `/explore#key=…`, and removes it from the address and the tab's history at once. */
export function takeKeyFromAddress(): void {
  const [, key] = /^#key=([^&]*)/.exec(location.hash) ?? []
  if (key === undefined) return
  history.replaceState(null, '', `${location.pathname}${location.search}#/`)
  keepKey(decodeText(key))
}
