// Controls that views share: buttons, menus, fields, hints, and problems with a countdown to the next attempt.
import type { ButtonHTMLAttributes, ComponentChildren, InputHTMLAttributes } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { type Problem, ROOT } from './api.ts'
import { chooseZone, ownZone, zoneStore } from './readerZone.ts'
import { sessionStore } from './session.ts'

/** A button. It submits its form only if its `type` is `submit`. */
export function Button({ label, ...rest }: ButtonHTMLAttributes<HTMLButtonElement> & { readonly label: ComponentChildren }) {
  return (
    <button type="button" class="button" {...rest}>
      {label}
    </button>
  )
}

/** Covers the page behind a sheet on a phone; a touch closes the sheet. */
export const Scrim = ({ close }: { close(): void }) => (
  <Button class="scrim" label="" aria-label="Close" tabIndex={-1} onClick={close} />
)

/** A list that opens below its button. Only one list is open at a time. Escape or a click outside closes it. */
export function Menu({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  const frame = useRef<HTMLDetailsElement>(null)
  const close = () => {
    if (frame.current) frame.current.open = false
  }
  useEffect(() => {
    const onPress = ({ target }: Event) => {
      if (!frame.current?.contains(target as Node)) close()
    }
    addEventListener('pointerdown', onPress)
    return () => removeEventListener('pointerdown', onPress)
  }, [])
  const onKeyDown = (event: KeyboardEvent & { currentTarget: HTMLDetailsElement }) => {
    const { key, currentTarget } = event
    if (key !== 'Escape' || !currentTarget.open) return
    event.stopPropagation()
    currentTarget.open = false
    currentTarget.querySelector('summary')?.focus()
  }
  return (
    <details class="anchor" name="menu" ref={frame} onKeyDown={onKeyDown}>
      <summary class="button">{label}</summary>
      <Scrim close={close} />
      <ul class="popover">{children}</ul>
    </details>
  )
}

/** An option: its name in the address or the API, and its words for people. */
export interface Named {
  readonly name: string
  readonly words: string
  /** Heading under which a menu shows the option. Undefined: the option comes before all headings. */
  readonly group?: string
}

interface SelectProps {
  readonly label: string
  readonly value: string
  readonly options: readonly (string | Named)[]
  readonly class?: string
  readonly id?: string
  take(value: string): void
}

/** A menu whose label only screen readers see. Options without a heading come first. */
export function Select({ label, value, options, take, ...rest }: SelectProps) {
  const named = options.map((one): Named => (typeof one === 'string' ? { name: one, words: one } : one))
  const { '': plain = [], ...groups } = Object.groupBy(named, ({ group = '' }) => group)
  const optionsOf = (some: readonly Named[]) =>
    some.map(({ name, words }) => (
      <option key={name} value={name}>
        {words}
      </option>
    ))
  return (
    <select {...rest} aria-label={label} value={value} onChange={({ currentTarget }) => take(currentTarget.value)}>
      {optionsOf(plain)}
      {Object.entries(groups).map(([group, some = []]) => (
        <optgroup key={group} label={group}>
          {optionsOf(some)}
        </optgroup>
      ))}
    </select>
  )
}

/**
 * Menu for the time zone of date-times: UTC, or the zone of the computer. If the computer's zone is UTC, a text replaces the
 * menu.
 */
export function ZoneChoice() {
  if (/^(Etc\/)?(UTC|GMT)$/.test(ownZone)) return <span>Times are in UTC</span>
  const zones = [
    { name: 'UTC', words: 'UTC' },
    { name: ownZone, words: `my time zone (${ownZone.replaceAll('_', ' ')})` },
  ]
  return (
    <label for="zone">
      Times in <Select id="zone" label="Times in" value={zoneStore.value} options={zones} take={chooseZone} />
    </label>
  )
}

type FieldProps = InputHTMLAttributes<HTMLInputElement> & { readonly label: string; take(value: string): void }

/** A field whose label only screen readers see. */
export function Field({ label, take, ...rest }: FieldProps) {
  return <input {...rest} aria-label={label} onInput={({ currentTarget }) => take(currentTarget.value)} />
}

/** A message about an input or an action that was refused. Screen readers read it at once. */
export const Hint = ({ text }: { readonly text: string | undefined }) => <span class="hint" role="alert" children={text} />

/** Button that copies a text, and then shows for a moment that it was copied. */
export function CopyButton({ label, look = 'button', text }: { readonly label: string; readonly look?: string; text(): string }) {
  const [isCopied, say] = useState(false)
  const copy = async () => {
    await copyText(text())
    say(true)
    setTimeout(() => say(false), 1_500)
  }
  return <Button class={look} label={<span aria-live="polite">{isCopied ? 'Copied' : label}</span>} onClick={copy} />
}

/**
 * Copies a text to the clipboard. Browsers have `navigator.clipboard` only over HTTPS and on localhost. Without it, the text is
 * copied from a field.
 */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const field = document.createElement('textarea')
  field.value = text
  document.body.append(field)
  field.select()
  document.execCommand('copy')
  field.remove()
}

interface EmptyProps {
  /** Heading; undefined if the page already has a heading. */
  readonly title?: string
  readonly words: ComponentChildren
  readonly children?: ComponentChildren
}

/** Says why there is nothing to show. `children`: buttons and links to pages that have something to show. */
export function Empty({ title, words, children }: EmptyProps) {
  return (
    <div class="empty">
      {title && <h1>{title}</h1>}
      <p>{words}</p>
      <div class="bar">{children}</div>
    </div>
  )
}

interface TroubleProps {
  readonly problem: Problem
  /** Verbs for a retry: `Asking` in “Asking again in 5 s”, `Ask` in “Ask now”. */
  readonly words?: readonly [being: string, doing: string]
  retry(): void
}

/** Shows the message of an error. If the error says when to retry, the seconds are counted down, and then `retry` is called. */
export function Trouble({ problem, retry, words: [being, doing] = ['Asking', 'Ask'] }: TroubleProps) {
  const { message, status, code, retryAfter } = problem
  const [seconds, setSeconds] = useState(retryAfter ?? 0)
  useEffect(() => {
    if (retryAfter === null) return
    if (seconds <= 0) return retry()
    const timer = setTimeout(() => setSeconds(seconds - 1), 1_000)
    return () => clearTimeout(timer)
  }, [seconds])
  return (
    <p class="trouble">
      <span role="alert">{message}</span>
      {retryAfter !== null && (
        <span>
          {being} again in {Math.max(1, seconds)} s <Button label={`${doing} now`} onClick={retry} />
        </span>
      )}
      {retryAfter === null && status >= 500 && <Button label="Try again" onClick={retry} />}
      {code !== '' && sessionStore.value.session?.kind === 'key' && <a href={`${ROOT}errors/${code}`}>What {code} means</a>}
    </p>
  )
}
