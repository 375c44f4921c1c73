// The entry point of the script, and the frame of the page: navigation, the form for a key, and the view of one resource.
import { render } from 'preact'
import { useEffect, useReducer, useRef, useState } from 'preact/hooks'
import { ROOT, useAnswer } from './api.ts'
import { Button, Trouble } from './controls.tsx'
import { excerptOf, forgetKey, keepKey, keepOwnKey, keyStore, takeKeyFromAddress } from './key.ts'
import { Notices } from './notices.tsx'
import { knownStore, NOTHING, type Resource, type Right, resourcesOf } from './resources.ts'
import { ResourceView } from './resourceView.tsx'
import { Store } from './store.ts'
import { emptyView, go, printView, readView, viewStore } from './view.ts'

/** The page. It first loads what the key may do. */
function App() {
  const [, redraw] = useReducer<number, void>((drawn) => drawn + 1, 0)
  Store.redraw = redraw
  const { key, refusal, offered } = keyStore.value
  const view = viewStore.value
  // A key that is offered is sent only if the reader says so; until then nothing is shown.
  const usedKey = offered === null ? key : null
  const isLoaded = usedKey !== null && knownStore.value.key === usedKey
  const { resources, rights } = isLoaded ? knownStore.value : NOTHING
  const resource = resources.find(({ plural }) => plural.toLowerCase() === view.resource.toLowerCase())
  useEffect(() => {
    // The reader may have gone on since this was drawn.
    if (viewStore.value.resource === '' && resources[0]) go(emptyView(resources[0].plural), false)
    document.title = `${resource ? `${resource.plural} – ` : ''}Roster`
  }, [view.resource, resources])
  return (
    <>
      <Header resources={resources} current={resource} ownKey={key} />
      <main>
        {usedKey !== null && !isLoaded && <Loading key={usedKey} ownKey={usedKey} />}
        {key === null ? (
          <KeyForm refusal={refusal} />
        ) : offered !== null ? (
          <KeyQuestion own={key} offered={offered} refusal={refusal} />
        ) : (
          resource && <ResourceView key={`${resource.plural} ${view.tab} ${key}`} resource={resource} view={view} />
        )}
        {resources.length > 0 && !resource && view.resource !== '' && (
          <p>
            There is no resource <bdi>{view.resource}</bdi>, or this key may not read it.
          </p>
        )}
        {isLoaded && resources.length === 0 && <Unreadable rights={rights} />}
      </main>
      <Notices />
    </>
  )
}

const readBody = (response: Response) => response.json()

/** Loads the document and the rights of the key, each again if it fails. */
function Loading({ ownKey }: { readonly ownKey: string }) {
  const described = useAnswer('openapi.json', readBody)
  const rights = useAnswer<readonly Right[]>('Rights', readBody)
  useEffect(() => {
    if (described.answer === null || rights.answer === null) return
    knownStore.set({ key: ownKey, rights: rights.answer, resources: resourcesOf(described.answer, rights.answer) })
  }, [described.answer, rights.answer])
  const failed = [described, rights].find(({ problem }) => problem !== null)
  return failed?.problem ? <Trouble key={failed.problem} problem={failed.problem} retry={failed.retry} /> : null
}

/** Lists the rights of a key that reads nothing. */
function Unreadable({ rights }: { readonly rights: readonly Right[] }) {
  return (
    <>
      <p>This key may read nothing here{rights.length > 0 ? '. It may:' : ', nor write.'}</p>
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
  /** The resource that is open. */
  readonly current: Resource | undefined
  readonly ownKey: string | null
}

/** Links to the resources and the docs, and the key. Without a key there are no links to resources. */
function Header({ resources, current, ownKey }: HeaderProps) {
  return (
    <header>
      <a class="home" href={ROOT}>
        Roster
      </a>
      {ownKey !== null && (
        <nav aria-label="Resources">
          {resources.map((one) => (
            <a
              key={one.plural}
              class="tab"
              aria-current={one === current ? 'page' : undefined}
              href={printView(emptyView(one.plural))}
            >
              {one.plural}
            </a>
          ))}
        </nav>
      )}
      <span class="grow" />
      <a href={`${ROOT}docs`}>Docs</a>
      {ownKey !== null && (
        <span class="key">
          <span>Key {excerptOf(ownKey)} </span>
          <Button class="link" label="Forget" onClick={forget} />
        </span>
      )}
    </header>
  )
}

/** Forgets the key and what it showed: another key begins with the first resource that it reads. */
function forget() {
  forgetKey()
  go(emptyView(''))
}

/** Form that asks for a key, and says what a key is. */
function KeyForm({ refusal }: { readonly refusal: string }) {
  const [text, setText] = useState('')
  const submit = (event: Event) => {
    event.preventDefault()
    // The text may have been copied from a header, or from a line of a file.
    const key = text.trim().replace(/^apikey\s+/i, '')
    if (key !== '') keepKey(key)
  }
  return (
    <form class="ask" onSubmit={submit}>
      <h1>Look at the data</h1>
      <p>
        A key says what you may read. The operator of this server issues keys. For development,
        <code>npm start</code> prints a link with its own key on a terminal, and keeps the key in{' '}
        <code>.data/development.key</code>.
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
          ref={(field) => field?.focus()}
        />
        <Button type="submit" class="button primary" label="Continue" />
      </div>
      <p class="hint" id="refusal" role="alert">
        {refusal}
      </p>
      <p class="count">This page only reads. The key stays in this tab, and ends with it.</p>
    </form>
  )
}

/** Asks which key to use, after a link has brought another one. `offered`: empty if that one cannot be used. */
function KeyQuestion({ own, offered, refusal }: Readonly<Record<'own' | 'offered' | 'refusal', string>>) {
  const keep = useRef<HTMLButtonElement>(null)
  useEffect(() => keep.current?.focus(), [])
  return (
    <section class="ask">
      <h1>{offered === '' ? 'A link with a key' : 'Use the key of this link?'}</h1>
      {offered === '' ? (
        <p>{refusal}</p>
      ) : (
        <p>
          The link has the key <code>{excerptOf(offered)}</code>, and this tab has <code>{excerptOf(own)}</code>. A key decides
          whose data you see. Use one of a link only if you trust who sent it.
        </p>
      )}
      <div class="bar">
        <Button class="button primary" label="Keep this tab’s key" ref={keep} onClick={keepOwnKey} />
        {offered !== '' && <Button label="Use the link’s key" onClick={() => keepKey(offered)} />}
      </div>
    </section>
  )
}

const readAddress = () => {
  takeKeyFromAddress()
  viewStore.set(readView(location.hash))
}
readAddress()
addEventListener('popstate', readAddress)
render(<App />, document.querySelector('#explore') as Element)
