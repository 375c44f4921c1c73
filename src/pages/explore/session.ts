// The key or the person for whom the page sends requests. No other module knows where keys and tokens are kept.
import { ISSUER_NAME, SIGN_IN } from './server.ts'
import { forgetOwnTexts, forgetText, keepText, readText } from './storage.ts'
import { Store } from './store.ts'
import { decodeText } from './view.ts'

const KEY = 'roster.key'
const PERSON = 'roster.person'

/** The key or the person with whose rights the page sends its requests. */
export interface Session {
  readonly kind: 'key' | 'person'
  /** Value of the header `Authorization`. */
  readonly authorization: string
  /** Words for the header of the page: the public part of the key; name or e-mail of the person. */
  readonly label: string
  /** Id that differs between keys and between persons, but stays the same when a token is renewed. It does not reveal the key. */
  readonly id: string
}

/** A person who has signed in, and the tokens that the issuer gave her. */
export interface Person {
  readonly issuer: string
  readonly clientId: string
  /** Random id of the sign-in. Renewed tokens keep it. */
  readonly signInId: string
  readonly subject: string
  readonly label: string
  /** Token that the page sends to the API. */
  readonly token: string
  readonly idToken: string
  readonly refreshToken: string | null
  /** Time at which the token ends, by this machine's clock; null: the issuer does not say. */
  readonly endsMs: number | null
  /** Time at which the token is renewed; null if `endsMs` is null. */
  readonly renewMs: number | null
  /** True if the server has accepted a token of this sign-in. */
  readonly isAccepted: boolean
}

interface Sessions {
  /** The session of this tab; null: the page asks for a key, or a sign-in. */
  readonly session: Session | null
  /** Why a key or a sign-in was refused, in words of the server or of this page. */
  readonly refusal: string
  /**
   * Key of a link that was opened in this tab, which has a different session already. The page asks the reader whether to use the
   * key or to keep the session. Empty: the link's key cannot be used. Null: the page does not ask.
   */
  readonly offered: string | null
  /** True if the person's sign-in has ended, and cannot be renewed: the page stays as it is, and asks to sign in again. */
  readonly isEnded: boolean
}

let person: Person | null = null

export const sessionStore = new Store<Sessions>({ session: storedSession(), refusal: '', offered: null, isEnded: false })

/**
 * Returns the stored session, of the person or the key of this tab. If the tab has neither, returns the session of the key that
 * this computer keeps.
 */
function storedSession(): Session | null {
  person = storedPerson()
  if (person !== null) return sessionOf(person)
  const key = readText('sessionStorage', KEY) ?? readText('localStorage', KEY)
  return key === null ? null : sessionOfKey(key)
}

/** Takes over the session that is stored now. The browser can bring back a page as it was before a sign-in or a sign-out. */
export function restoreSession(): void {
  const session = storedSession()
  if (session !== null) sessionStore.set({ ...sessionStore.value, session, isEnded: false })
  // If a sign-in has ended, the page stays as it is, with what was typed.
  else if (!sessionStore.value.isEnded) sessionStore.set({ session: null, refusal: '', offered: null, isEnded: false })
}

function storedPerson(): Person | null {
  const text = readText('sessionStorage', PERSON)
  if (text === null) return null
  try {
    const stored: Person = JSON.parse(text)
    if (stored.issuer === SIGN_IN?.issuer && stored.clientId === SIGN_IN.clientId) return stored
  } catch {
    // The stored text is not JSON.
  }
  // The text is not valid, or the person signed in before the server's issuer or client id was changed.
  forgetText('sessionStorage', PERSON)
  return null
}

function sessionOfKey(key: string): Session {
  return { kind: 'key', authorization: `ApiKey ${key}`, label: excerptOf(key), id: `key ${excerptOf(key)} ${hashOf(key)}` }
}

function sessionOf({ token, label, subject }: Person): Session {
  return { kind: 'person', authorization: `Bearer ${token}`, label, id: `person ${subject}` }
}

/** Returns a hash of 32 bits (FNV-1a), which tells keys apart without showing anything of a key. */
function hashOf(text: string): string {
  let hash = 0x811c9dc5
  for (const letter of text) hash = Math.imul(hash ^ letter.charCodeAt(0), 0x01000193)
  return (hash >>> 0).toString(36)
}

/** Returns the public part of a key: the id by which the operator knows it. */
export function excerptOf(key: string): string {
  return `${/^roster_\w{10}(?=_)/.exec(key)?.[0] ?? key.slice(0, 10)}…`
}

/** True if a header can contain the key: an excerpt with `…`, for example, cannot be sent. */
const isPlain = (key: string) => !/[^\x21-\x7e]/.test(key)
const NOT_PLAIN = 'The key has characters that no key has.'

/** Uses a key from now on. `staysHere`: this computer keeps it for other tabs, and after the browser was closed. */
export function keepKey(key: string, staysHere = false): void {
  if (!isPlain(key)) {
    endSession(NOT_PLAIN)
    return
  }
  forgetText('sessionStorage', PERSON)
  person = null
  keepText('sessionStorage', KEY, key)
  if (staysHere) keepText('localStorage', KEY, key)
  sessionStore.set({ session: sessionOfKey(key), refusal: '', offered: null, isEnded: false })
}

/** Keeps the tab's session, and drops the key of the link. */
export function keepOwnSession(): void {
  sessionStore.set({ ...sessionStore.value, refusal: '', offered: null })
}

/** Returns the person who is signed in; null if nobody is, as with a key. */
export function signedIn(): Person | null {
  return person
}

/** Uses the tokens of a person from now on: after a sign-in or a renewal. */
export function keepPerson(next: Person): void {
  person = next
  forgetText('sessionStorage', KEY)
  keepText('sessionStorage', PERSON, JSON.stringify(next))
  sessionStore.set({ session: sessionOf(next), refusal: '', offered: sessionStore.value.offered, isEnded: false })
}

/** Notes that the server has accepted the person's token. */
export function noteAccepted(): void {
  if (person === null || person.isAccepted) return
  person = { ...person, isAccepted: true }
  keepText('sessionStorage', PERSON, JSON.stringify(person))
}

/** Ends a person's sign-in, and forgets her tokens. The page stays as it is. */
export function endSignIn(): void {
  person = null
  forgetText('sessionStorage', PERSON)
  sessionStore.set({ ...sessionStore.value, isEnded: true })
}

/** Forgets key and tokens. `refusal`: why the key or the sign-in was refused; empty if nothing was refused. */
export function endSession(refusal = ''): void {
  // This computer may keep a key that differs from the refused key. Such a key is not forgotten.
  const isKept = sessionStore.value.session?.authorization === `ApiKey ${readText('localStorage', KEY)}`
  if (refusal === '' || isKept) forgetText('localStorage', KEY)
  forgetText('sessionStorage', KEY)
  forgetText('sessionStorage', PERSON)
  person = null
  sessionStore.set({ session: null, refusal, offered: null, isEnded: false })
}

/** Forgets what this tab has stored, drafts too, and the key that this computer keeps. */
export function forgetEverything(): void {
  forgetOwnTexts()
  endSession()
}

/** Forgets this tab's key if another tab has removed the same key from this computer. */
export function followOtherTabs({ key, oldValue, newValue }: StorageEvent): void {
  if (key !== KEY || newValue !== null || oldValue === null) return
  if (sessionStore.value.session?.authorization === `ApiKey ${oldValue}`) endSession()
}

/**
 * Takes the key of a link such as `/explore#key=…`, and removes it from the address and the tab's history at once. If the tab has
 * a different session, the page asks first: otherwise the sender of a link would decide whose data the reader sees.
 */
export function takeKeyFromAddress(): void {
  const [, encoded] = /^#key=([^&]*)/.exec(location.hash) ?? []
  if (encoded === undefined) return
  history.replaceState(null, '', `${location.pathname}${location.search}#/`)
  const { session, isEnded } = sessionStore.value
  const key = decodeText(encoded)
  if (key === '') return
  if (session === null || session.authorization === `ApiKey ${key}`) keepKey(key)
  else if (isPlain(key)) sessionStore.set({ session, refusal: '', offered: key, isEnded })
  else sessionStore.set({ session, refusal: `${NOT_PLAIN} This tab ${stillHas(session)}.`, offered: '', isEnded })
}

const stillHas = ({ kind }: Session) => (kind === 'key' ? 'still has its own' : `is still signed in at ${ISSUER_NAME}`)
