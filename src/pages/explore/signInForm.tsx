// Asks who the reader is, by sign-in or by a key. Also asks which of two keys to use, and tells a person without rights what to
// do.
import { useEffect, useRef, useState } from 'preact/hooks'
import { useAnswer } from './api.ts'
import { Button } from './controls.tsx'
import { ISSUER_NAME, SIGN_IN } from './server.ts'
import { excerptOf, keepKey, keepOwnSession, type Session, sessionStore } from './session.ts'
import { signInStore, signOut, startSignIn } from './signIn.ts'

/** Offers to sign in, if people can sign in at this server, and to use a key. `refusal`: why the last attempt failed. */
export function SignInForm({ refusal }: { readonly refusal: string }) {
  if (SIGN_IN === null) return <KeyForm refusal={refusal} isFirst={true} />
  return (
    <>
      <section class="ask">
        <h1>Sign in</h1>
        {SIGN_IN.endpoints === null ? (
          <>
            <p role="alert">
              Nobody can sign in at the moment: this server cannot ask {ISSUER_NAME} for its addresses. If it goes on, tell
              whoever runs this server: its log says why.
            </p>
            <Button class="button primary" label="Try again" onClick={() => location.reload()} />
          </>
        ) : (
          <>
            <p>You sign in at {ISSUER_NAME}, and come back to this page.</p>
            <SignInButton label="Sign in" />
          </>
        )}
        <p class="hint" role="alert">
          {refusal}
        </p>
      </section>
      <details class="ask" open={SIGN_IN.endpoints === null}>
        <summary class="link">Use a key</summary>
        <KeyForm refusal="" isFirst={false} />
      </details>
    </>
  )
}

/** Button that leads to the issuer. `asOther`: as for `startSignIn`. */
function SignInButton({ label, asOther = false }: { readonly label: string; readonly asOther?: boolean }) {
  const isLeaving = signInStore.value === 'leaving'
  return <Button class="button primary" label={label} disabled={isLeaving} onClick={() => startSignIn(asOther)} />
}

/** Says that the sign-in has ended. The page stays as it is, with what was typed. */
export function EndedBar() {
  const { refusal } = sessionStore.value
  return (
    <p class="trouble" role="alert">
      <span>Your sign-in has ended. What you see may have changed since. {refusal}</span> <SignInButton label="Sign in again" />
    </p>
  )
}

/** A path that needs rights. If a person has none, the server's refusal says why. */
const REASON_PATH = 'Changes'

/** Says why a person may do nothing here, in the server's words, and what to do. */
export function NoRights({ label }: { readonly label: string }) {
  const { refusal } = sessionStore.value
  const { problem } = useAnswer(REASON_PATH, async () => null)
  return (
    <section class="ask">
      <h1>You have no rights here</h1>
      <p>
        You are signed in as <bdi>{label}</bdi>. {problem?.message ?? ''}
      </p>
      <p>Ask your HR department, or whoever runs this server, to mend that. Or sign in as somebody else.</p>
      <div class="bar">
        <SignInButton label="Sign in as somebody else" asOther={true} />
        <Button label="Sign out" onClick={signOut} />
      </div>
      <p class="hint" role="alert">
        {refusal}
      </p>
    </section>
  )
}

/** Form that asks for a key, and says what a key is. `isFirst`: the page offers nothing else. */
function KeyForm({ refusal, isFirst }: { readonly refusal: string; readonly isFirst: boolean }) {
  const [text, setText] = useState('')
  const [staysHere, setStaysHere] = useState(false)
  const submit = (event: Event) => {
    event.preventDefault()
    // The text may have been copied from a header, or from a line of a file.
    const key = text.trim().replace(/^apikey\s+/i, '')
    if (key !== '') keepKey(key, staysHere)
  }
  return (
    <form class={isFirst ? 'ask' : ''} onSubmit={submit}>
      {isFirst && <h1>Look at the data</h1>}
      <p>
        A key says what you may read. The operator of this server issues keys.
        {isFirst && (
          <>
            {' '}
            For development, <code>npm start</code> prints a link with its own key on a terminal, and keeps the key in{' '}
            <code>.data/development.key</code>.
          </>
        )}
      </p>
      <label for="key">Key</label>
      <div class="bar">
        <input
          id="key"
          type="password"
          autocomplete="off"
          value={text}
          aria-describedby="refusal"
          onInput={({ currentTarget: { value } }) => setText(value)}
          ref={(field) => {
            if (isFirst) field?.focus()
          }}
        />
        <Button type="submit" class="button primary" label="Continue" />
      </div>
      <p class="hint" id="refusal" role="alert">
        {refusal}
      </p>
      <label>
        <input type="checkbox" checked={staysHere} onChange={({ currentTarget: { checked } }) => setStaysHere(checked)} /> Keep on
        this computer
      </label>
      <p class="count">
        {staysHere
          ? 'Everybody who uses this browser can use the key, until you forget it.'
          : 'The key stays in this tab, and ends with it.'}
      </p>
    </form>
  )
}

interface KeyQuestionProps {
  readonly own: Session
  /** Key of the link; empty if it cannot be used. */
  readonly offered: string
  readonly refusal: string
}

/** Asks whether the tab keeps its session, or uses the key of a link that was opened in it. */
export function KeyQuestion({ own, offered, refusal }: KeyQuestionProps) {
  const keep = useRef<HTMLButtonElement>(null)
  useEffect(() => keep.current?.focus(), [])
  const isKey = own.kind === 'key'
  return (
    <section class="ask">
      <h1>{offered === '' ? 'A link with a key' : 'Use the key of this link?'}</h1>
      {offered === '' ? (
        <p>{refusal}</p>
      ) : (
        <p>
          The link has the key <code>{excerptOf(offered)}</code>, and {isKey ? 'this tab has ' : 'you are signed in here as '}
          {isKey ? <code>{own.label}</code> : <bdi>{own.label}</bdi>}. A key decides whose data you see. Use one of a link only if
          you trust who sent it.
        </p>
      )}
      <div class="bar">
        <Button
          class="button primary"
          label={isKey ? 'Keep this tab’s key' : 'Stay signed in'}
          ref={keep}
          onClick={keepOwnSession}
        />
        {offered !== '' && <Button label="Use the link’s key" onClick={() => keepKey(offered)} />}
      </div>
    </section>
  )
}
