// The entry point of the script, and the frame of the page: navigation, the session, and the view of one resource.
import { render } from 'preact'
import { useEffect, useLayoutEffect, useReducer } from 'preact/hooks'
import { ROOT, sendAhead, useAnswer } from './api.ts'
import { Button, Empty, Trouble, ZoneChoice } from './controls.tsx'
import { CreateOnly } from './createOnly.tsx'
import { ImportView } from './importView.tsx'
import { forgetWorks } from './importWork.ts'
import { Notices } from './notices.tsx'
import { knownStore, NOTHING, type Resource, type Right, resourcesOf } from './resources.ts'
import { ResourceView } from './resourceView.tsx'
import { endSession, followOtherTabs, restoreSession, type Session, sessionStore, takeKeyFromAddress } from './session.ts'
import { claimRenewal, signInStore, signOut, takeAnswerFromAddress, watchEnd } from './signIn.ts'
import { EndedBar, KeyQuestion, NoRights, SignInForm } from './signInForm.tsx'
import { ownNameStore, Start } from './start.tsx'
import { Store } from './store.ts'
import { hasKeptColumns } from './tools.tsx'
import { emptyView, go, pagePath, printView, readView, viewStore } from './view.ts'
import { unreadableWritables } from './writable.ts'

/** Maximum characters of an unknown resource's name. A longer name is cut. */
const NAME_LENGTH_MAX = 50

/** The whole page. It first loads the OpenAPI document and the rights of the session. */
function App() {
  const [, redraw] = useReducer<number, void>((drawn) => drawn + 1, 0)
  Store.redraw = redraw
  const { session, refusal, offered, isEnded } = sessionStore.value
  const view = viewStore.value
  // A link can offer an API key. It is sent only if the reader agrees. Until then the page shows no data.
  const used = offered === null && signInStore.value !== 'returning' ? session : null
  const isLoaded = used !== null && knownStore.value.sessionId === used.id
  const { resources, rights } = isLoaded ? knownStore.value : NOTHING
  const resource = resources.find(({ plural }) => plural.toLowerCase() === view.resource.toLowerCase())
  const writable = unreadableWritables().find(({ plural }) => plural.toLowerCase() === view.resource.toLowerCase())
  const hasStart = isLoaded && used.kind === 'person' && resources.length + unreadableWritables().length > 0
  const isStart = hasStart && view.resource === ''
  useEffect(() => {
    // The reader may have opened a resource since the page was drawn, so the present view is read.
    if (viewStore.value.resource === '' && !hasStart && resources[0]) go(emptyView(resources[0].plural), false)
    document.title = `${resource ? `${resource.plural} – ` : isStart ? 'Start – ' : ''}Roster`
  }, [view.resource, resources])
  return (
    <>
      <Header
        resources={resources}
        current={isStart ? '' : (resource ?? writable)?.plural}
        session={session}
        hasStart={hasStart}
      />
      {isEnded && <EndedBar />}
      <main>
        {used !== null && !isLoaded && <Loading key={used.id} id={used.id} />}
        {signInStore.value === 'returning' ? (
          <p role="status">Signing in …</p>
        ) : session === null ? (
          <SignInForm refusal={refusal} />
        ) : offered !== null ? (
          <KeyQuestion own={session} offered={offered} refusal={refusal} />
        ) : (
          resource &&
          (view.form === 'import' ? (
            <ImportView key={`${resource.plural} ${session.id}`} resource={resource} view={view} />
          ) : (
            <ResourceView key={`${resource.plural} ${view.tab} ${session.id}`} resource={resource} view={view} />
          ))
        )}
        {isLoaded && writable && <CreateOnly key={used.id} writable={writable} />}
        {isStart && <Start key={used.id} session={used} />}
        {resources.length > 0 && !resource && !writable && view.resource !== '' && (
          <Empty
            title="Not found"
            words={
              <>
                There is no resource <bdi>{view.resource.slice(0, NAME_LENGTH_MAX)}</bdi>, or{' '}
                {session?.kind === 'key' ? 'this key' : 'you'} may not read it.
              </>
            }
          >
            {resources.slice(0, 4).map(({ plural }) => (
              <a key={plural} class="button" href={printView(emptyView(plural))}>
                {plural}
              </a>
            ))}
          </Empty>
        )}
        {isLoaded && resources.length === 0 && !writable && !isStart && <Unreadable session={used} rights={rights} />}
      </main>
      {isLoaded && (
        <footer class="foot">
          <ZoneChoice />
        </footer>
      )}
      <Notices />
    </>
  )
}

const DOCUMENT_PATH = 'openapi.json'
const RIGHTS_PATH = 'Rights'
const readBody = (response: Response) => response.json()

/** Loads the OpenAPI document and the rights of the session. If a request fails, shows the error. */
function Loading({ id }: { readonly id: string }) {
  const described = useAnswer(DOCUMENT_PATH, readBody)
  const rights = useAnswer<readonly Right[]>(RIGHTS_PATH, readBody)
  useLayoutEffect(() => {
    if (described.answer === null || rights.answer === null) return
    knownStore.set({
      sessionId: id,
      rights: rights.answer,
      resources: resourcesOf(described.answer, rights.answer),
      document: described.answer,
    })
  }, [described.answer, rights.answer])
  const failed = [described, rights].find(({ problem }) => problem !== null)
  return failed?.problem ? <Trouble key={failed.problem} problem={failed.problem} retry={failed.retry} /> : null
}

/** Lists the rights of a key or a person who may read nothing. */
function Unreadable({ session, rights }: { readonly session: Session; readonly rights: readonly Right[] }) {
  if (session.kind === 'person' && rights.length === 0) return <NoRights label={session.label} />
  return (
    <>
      <p>
        {session.kind === 'key' ? 'This key' : 'You'} may read nothing here
        {rights.length === 0 ? ', nor write.' : session.kind === 'key' ? '. It may:' : '. You may:'}
      </p>
      <ul>
        {rights.map(({ text }) => (
          <li key={text}>
            <code>{text}</code>
          </li>
        ))}
      </ul>
    </>
  )
}

interface HeaderProps {
  readonly resources: readonly Resource[]
  /** Name of the open resource. Empty: the start page is open. Undefined: no known resource is open. */
  readonly current: string | undefined
  readonly session: Session | null
  readonly hasStart: boolean
}

/**
 * Links to the resources and the docs, and the key or the person of the session. Without a session there are no links to
 * resources.
 */
function Header({ resources, current, session, hasStart }: HeaderProps) {
  return (
    <header>
      <a class="home" href={ROOT}>
        Roster
      </a>
      {session !== null && (
        <nav aria-label="Resources">
          {hasStart && <Tab words="Start" resource="" isCurrent={current === ''} />}
          {[...resources, ...unreadableWritables()].map(({ plural }) => (
            <Tab key={plural} words={plural} resource={plural} isCurrent={plural === current} />
          ))}
        </nav>
      )}
      <span class="grow" />
      <a href={`${ROOT}docs`}>Docs</a>
      {session !== null && (
        <span class="key">
          <span title={session.label}>
            <bdi>{session.kind === 'key' ? `Key ${session.label}` : nameOf(session)}</bdi>{' '}
          </span>
          <Button class="link" label={session.kind === 'key' ? 'Forget' : 'Sign out'} onClick={leave} />
        </span>
      )}
    </header>
  )
}

/** Returns the name of a person: from her row if the page has read it, else from her sign-in. */
function nameOf({ id, label }: Session): string {
  const { sessionId, name } = ownNameStore.value
  return sessionId === id ? name : label
}

interface TabProps {
  readonly words: string
  /** Name of the resource in paths; empty for the start page. */
  readonly resource: string
  readonly isCurrent: boolean
}

function Tab({ words, resource, isCurrent }: TabProps) {
  return (
    <a class="tab" aria-current={isCurrent ? 'page' : undefined} href={printView(emptyView(resource))}>
      {words}
    </a>
  )
}

/** Ends the session, and clears the address, so that the next session does not open a page of this session. */
function leave() {
  const { session } = sessionStore.value
  const isPerson = session?.kind === 'person'
  if (session !== null) forgetWorks(session.id)
  go(emptyView(''))
  if (isPerson) signOut()
  else endSession()
}

function readAddress() {
  takeAnswerFromAddress()
  takeKeyFromAddress()
  viewStore.set(readView(location.hash))
  claimRenewal()
}

/**
 * Sends the first requests at the same time. They ask for the OpenAPI document, the rights, and the list in the address. If this
 * browser stores columns for the list, the list is requested later: the request may name columns of referenced rows, which only
 * the OpenAPI document lists.
 */
function askAhead(): void {
  const { session, offered } = sessionStore.value
  if (session === null || offered !== null || signInStore.value === 'returning') return
  sendAhead(DOCUMENT_PATH)
  sendAhead(RIGHTS_PATH)
  const { resource, tab, sort } = viewStore.value
  // A descending list may need two requests: for the rows with a value, and for the rows without one. Only the OpenAPI document
  // tells whether it needs two, so the list is requested later.
  if (sort[0]?.startsWith('-')) return
  if (/^\w+$/.test(resource) && tab === 'table' && !hasKeptColumns(resource)) sendAhead(pagePath(resource, viewStore.value))
}

readAddress()
askAhead()
addEventListener('popstate', readAddress)
addEventListener('storage', followOtherTabs)
document.addEventListener('visibilitychange', watchEnd)
addEventListener('pageshow', ({ persisted }) => {
  if (!persisted) return
  // The browser has restored this page from its cache. The reader may have signed in or out since then, so the stored session is
  // read again.
  signInStore.set('')
  restoreSession()
  claimRenewal()
})
render(<App />, document.querySelector('#explore') as Element)
