// The form for a write conflict, in which two people have changed the same properties. For each of these properties it shows the
// earlier value, the reader's value, and the value that is stored now.
import { useEffect, useRef, useState } from 'preact/hooks'
import { Button } from './controls.tsx'
import { formatDate } from './format.ts'
import type { Clash } from './formWork.ts'
import { collectionsOf } from './resources.ts'
import { useNameOf } from './rowNames.ts'
import type { Texts } from './typed.ts'
import type { FormField } from './writable.ts'

interface Props {
  readonly clashes: readonly Clash[]
  /** Takes the chosen texts, by the names of their properties. */
  choose(texts: Texts): void
}

/** Asks which value stays, for each property that both the reader and somebody else have changed. */
export function Conflict({ clashes, choose }: Props) {
  const [theirs, setTheirs] = useState<readonly string[]>([])
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  const chosen = (taken: readonly string[]) =>
    Object.fromEntries(clashes.map(({ field: { name }, mine, theirs }) => [name, taken.includes(name) ? theirs : mine]))
  return (
    <form
      class="clash"
      aria-label="Comparison"
      onSubmit={(event) => {
        event.preventDefault()
        choose(chosen(theirs))
      }}
    >
      <h3 tabIndex={-1} ref={heading}>
        Somebody else has saved other values meanwhile
      </h3>
      <p>Nothing of yours is saved yet. Choose for each which value stays.</p>
      {clashes.map((clash) => (
        <Comparison
          key={clash.field.name}
          clash={clash}
          isTheirs={theirs.includes(clash.field.name)}
          take={(isTheirs) => {
            const others = theirs.filter((name) => name !== clash.field.name)
            setTheirs(isTheirs ? [...others, clash.field.name] : others)
          }}
        />
      ))}
      <div class="bar">
        <Button type="submit" class="button primary" label="Save this choice" />
        {clashes.length > 1 && <Button label="Keep all mine" onClick={() => choose(chosen([]))} />}
        {clashes.length > 1 && (
          <Button label="Take all theirs" onClick={() => choose(chosen(clashes.map(({ field }) => field.name)))} />
        )}
      </div>
    </form>
  )
}

interface ComparisonProps {
  readonly clash: Clash
  readonly isTheirs: boolean
  take(isTheirs: boolean): void
}

function Comparison({ clash: { field, before, mine, theirs }, isTheirs, take }: ComparisonProps) {
  const choice = (label: string, text: string, isChosen: boolean, choose: () => void) => (
    <label>
      <input type="radio" name={`clash-${field.name}`} checked={isChosen} onChange={choose} /> {label}:{' '}
      <Value field={field} text={text} />
    </label>
  )
  return (
    <fieldset>
      <legend>{field.label}</legend>
      <span class="count">
        Before: <Value field={field} text={before} />
      </span>
      {choice('Keep mine', mine, !isTheirs, () => take(false))}
      {choice('Take theirs', theirs, isTheirs, () => take(true))}
    </fieldset>
  )
}

/** The text of a field as people read it. For a reference this is the name of the row. */
function Value({ field, text }: { readonly field: FormField; readonly text: string }) {
  const { kind, references } = field
  const name = useNameOf(references === null ? [] : collectionsOf(references), references === null ? '' : text, '')
  if (text === '') return <span class="none">no value</span>
  if (references !== null) return <bdi>{name}</bdi>
  if (kind === 'boolean') return <bdi>{text === 'true' ? 'yes' : 'no'}</bdi>
  return <bdi>{kind === 'instant' || kind === 'date' ? formatDate(kind, text) : text}</bdi>
}
