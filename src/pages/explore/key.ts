// The API key of this tab: kept in its session storage, taken from a form or a link, forgotten when it is refused.
import { forgetText, keepText, readText } from './storage.ts'
import { Store } from './store.ts'
import { decodeText } from './view.ts'

const NAME = 'roster.key'

interface Keys {
  /** Key of this tab; it is forgotten when the tab closes. */
  readonly key: string | null
  /** Why a key was refused, in words of the server or of this page. */
  readonly refusal: string
  /** Key from a link that was opened in a tab with another key, until the reader has chosen; empty if it cannot be used. */
  readonly offered: string | null
}

export const keyStore = new Store<Keys>({ key: readText('sessionStorage', NAME), refusal: '', offered: null })

/** True if a header can carry the key; the … of a key that was copied in part cannot be sent. */
const isPlain = (key: string) => !/[^\x21-\x7e]/.test(key)
const NOT_PLAIN = 'The key has characters that no key has.'

export function keepKey(key: string): void {
  if (!isPlain(key)) forgetKey(NOT_PLAIN)
  else {
    keepText('sessionStorage', NAME, key)
    keyStore.set({ key, refusal: '', offered: null })
  }
}

/** Keeps the tab's own key, and closes the question which key to use. */
export function keepOwnKey(): void {
  keyStore.set({ ...keyStore.value, refusal: '', offered: null })
}

/** Returns the public part of a key: the id by which the operator knows it. */
export function excerptOf(key: string): string {
  return `${/^roster_\w{10}(?=_)/.exec(key)?.[0] ?? key.slice(0, 10)}…`
}

/** Forgets the key. `refusal`: the server's reason; empty if the reader asked for it. */
export function forgetKey(refusal = ''): void {
  forgetText('sessionStorage', NAME)
  keyStore.set({ key: null, refusal, offered: null })
}

/**
 * Takes the key of a link such as `/explore#key=…`, and removes it from the address and the tab's history at once. A tab with
 * another key asks first; otherwise the sender of a link would decide whose data the reader sees.
 */
export function takeKeyFromAddress(): void {
  const [, encoded] = /^#key=([^&]*)/.exec(location.hash) ?? []
  if (encoded === undefined) return
  history.replaceState(null, '', `${location.pathname}${location.search}#/`)
  const own = keyStore.value.key
  const key = decodeText(encoded)
  if (key === '') return
  if (own === null || own === key) keepKey(key)
  else if (isPlain(key)) keyStore.set({ key: own, refusal: '', offered: key })
  else keyStore.set({ key: own, refusal: `${NOT_PLAIN} This tab still has its own.`, offered: '' })
}
