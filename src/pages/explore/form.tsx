// Forms that create and change rows, on a panel beside the list. What was typed stays until it is saved or discarded.
import { type ComponentChildren, Fragment } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { Conflict } from './conflict.tsx'
import { Button, CopyButton, Hint, Trouble } from './controls.tsx'
import { draftIdOf, forgetDraft, readDraft } from './drafts.ts'
import { controlId, FormRow } from './fields.tsx'
import { FormWork, type State } from './formWork.ts'
import { say } from './notices.tsx'
import { collectionsOf, type Resource, wordsOf } from './resources.ts'
import { useNameOf } from './rowNames.ts'
import { createVariants, type Preset, type Variant } from './variants.ts'
import { change, type Shown } from './view.ts'
import { type FormField, type Writable, writableOf } from './writable.ts'
import { announce, type Versioned } from './writes.ts'

/** Returns words for a new row: `New absence`. */
export const newWords = ({ entity }: Pick<Writable, 'entity'>) => `New ${wordsOf(entity).toLowerCase()}`

/** Button that opens the form for a new row; nothing if the reader may not create rows. */
export function NewButton({ resource, view }: Shown) {
  const writable = writableOf(resource)
  if (!writable || writable.creates.length === 0) return null
  const isBegun = readDraft(draftIdOf(resource.plural, '')) !== null
  return (
    <Button
      class="button primary"
      label={isBegun ? `${newWords(writable)} (draft)` : newWords(writable)}
      onClick={() => change(view, { row: '', form: 'new' })}
    />
  )
}

interface NewProps {
  readonly writable: Writable
  /** Takes the id of the new row. `id` is null if the reader may not read the row. */
  created(id: string | null): void
  close(): void
}

/** A panel with the form for a new row. */
export function NewPanel({ writable, created, close }: NewProps) {
  const { plural, entity } = writable
  const saved = ({ row }: Versioned) => {
    // A reader who may not read the new row gets only its id.
    const isReadable = Object.keys(row).length > 1
    const words = `${wordsOf(entity)} ${row.id} was created.`
    created(isReadable ? String(row.id) : null)
    announce(isReadable ? words : `${words} You may not read it.`)
  }
  return (
    <Panel title={newWords(writable)} close={close} draftId={draftIdOf(plural, '')}>
      {(draftId) => (
        <RowForm
          draftId={draftId}
          variants={createVariants(writable)}
          row={null}
          path={plural}
          label="Create"
          saved={saved}
          close={close}
        />
      )}
    </Panel>
  )
}

interface EditProps {
  readonly resource: Resource
  readonly row: Versioned
  /** Forms that change the row, at least one. */
  readonly variants: readonly Variant[]
  close(): void
}

/** The form that changes a row, in the panel of that row. */
export function EditForm({ resource, row, variants, close }: EditProps) {
  const id = String(row.row.id)
  const saved = (_: Versioned, others: readonly FormField[]) => {
    const labels = others.map(({ label }) => label).join(', ')
    close()
    announce(labels === '' ? 'Saved.' : `Saved. Somebody else has changed ${labels} meanwhile; that stays, too.`)
  }
  return (
    <RowForm
      key={id}
      draftId={draftIdOf(resource.plural, id)}
      variants={variants}
      row={row}
      path={`${resource.plural}/${encodeURIComponent(id)}`}
      label="Save"
      saved={saved}
      close={close}
    />
  )
}

/** Says that what was typed into a closed form is kept; says nothing if the form has no draft. */
export function sayKept(draftId: string): void {
  if (readDraft(draftId) !== null) say('What you typed is kept until you close this tab.')
}

interface PanelProps {
  readonly title: string
  readonly draftId: string
  children(draftId: string): ComponentChildren
  close(): void
}

/** A panel beside the list, with a heading. Escape closes it, and keeps what was typed. */
function Panel({ title, draftId, children, close }: PanelProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  const leave = () => {
    sayKept(draftId)
    close()
  }
  return (
    <aside aria-label={title} onKeyDown={({ key }) => key === 'Escape' && leave()}>
      <div class="bar">
        <Button class="button narrow" label="‹ Back" onClick={leave} />
        <h2 tabIndex={-1} ref={heading}>
          {title}
        </h2>
        <span class="grow" />
        <Button class="button wide" label="Close" aria-keyshortcuts="Escape" onClick={leave} />
      </div>
      {children(draftId)}
    </aside>
  )
}

interface FormProps {
  readonly draftId: string
  readonly variants: readonly Variant[]
  readonly row: Versioned | null
  readonly path: string
  /** Words of the button that saves. */
  readonly label: string
  saved(row: Versioned, others: readonly FormField[]): void
  close(): void
}

/** A form with the fields that the reader's rights allow. */
function RowForm({ draftId, variants, row, path, label, saved, close }: FormProps) {
  const isOpen = useRef(true)
  const work = useMemo(
    () =>
      new FormWork({
        draftId,
        variants,
        row,
        path,
        // If the form was closed meanwhile, the page only says that the row was saved, and stays where it is.
        saved: (written, others) => (isOpen.current ? saved(written, others) : announce('Saved.')),
      }),
    [draftId],
  )
  useEffect(() => {
    work.resume()
    return () => {
      isOpen.current = false
    }
  }, [])
  const state = work.state.value
  useFocusOnFault(state, work.variant.fields)
  if (state.kind === 'gone') return <Gone work={work} close={close} />
  if (state.kind === 'clash')
    return <Conflict clashes={state.clashes} choose={(texts) => void work.rebase(state.theirs, texts)} />
  const isBusy = state.kind !== 'open'
  const { fields, presets } = work.variant
  return (
    <form
      class="fields"
      noValidate
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault()
        if (!isBusy) void work.save()
      }}
    >
      {variants.length > 1 && <VariantChoice variants={variants} work={work} />}
      {presets.length > 0 && <Presets presets={presets} />}
      <fieldset disabled={isBusy}>
        {fields.map((field) => (
          <FormRow
            key={field.name}
            field={field}
            text={work.textOf(field)}
            chosen={work.draft.labels[field.name] ?? ''}
            fault={state.kind === 'open' ? state.faults[field.name] : undefined}
            take={(text, chosen) => work.take(field, text, chosen)}
          />
        ))}
      </fieldset>
      <FormEnd work={work} label={label} close={close} />
    </form>
  )
}

/** Messages about a form, and its buttons below them. Both stay in sight while the panel is scrolled. */
function FormEnd({ work, label, close }: Pick<FormProps, 'label' | 'close'> & { readonly work: FormWork }) {
  const state = work.state.value
  const isBusy = state.kind !== 'open'
  return (
    <div class="end">
      <Messages state={state} work={work} />
      {!work.isKept && <Hint text="This is too long to be kept: save it before you leave the page." />}
      <div class="bar">
        <Button type="submit" class="button primary" label={isBusy ? 'Saving …' : label} aria-disabled={isBusy} />
        <Button
          label={work.isChanged ? 'Discard' : 'Cancel'}
          onClick={() => {
            work.discard()
            close()
          }}
        />
      </div>
    </div>
  )
}

/** Says why nothing was saved yet. */
function Messages({ state, work }: { readonly state: State; readonly work: FormWork }) {
  if (state.kind === 'open' && state.problem)
    return (
      <p class="trouble" role="alert">
        {state.problem.message}
      </p>
    )
  if (state.kind !== 'waiting') return null
  return (
    <>
      <Trouble
        key={state.problem}
        problem={state.problem}
        words={['Trying', 'Try']}
        retry={() => void (state.isCertain ? work.save() : work.send())}
      />
      {state.problem.retryAfter === null && !state.isCertain && <Button label="Try again" onClick={() => void work.send()} />}
      {state.isCertain && <Button label="Change it first" onClick={() => work.stopWaiting()} />}
    </>
  )
}

/** Moves the focus to the first field with a fault. */
function useFocusOnFault(state: State, fields: readonly FormField[]): void {
  const faults = state.kind === 'open' ? state.faults : null
  useEffect(() => {
    const first = fields.find(({ name }) => faults !== null && name in faults)
    if (first) document.getElementById(controlId(first))?.focus()
  }, [faults])
}

/** Asks which of several rights the form follows. */
function VariantChoice({ variants, work }: { readonly variants: readonly Variant[]; readonly work: FormWork }) {
  return (
    <div class="row">
      <label for="form-right">By which of your rights</label>
      <select
        id="form-right"
        value={String(work.draft.variant)}
        onChange={({ currentTarget: { value } }) => work.choose(Number(value))}
      >
        {variants.map(({ fields, presets }, index) => (
          <option key={index} value={String(index)}>
            {presets.length === 0 && `With ${fields.map(({ label }) => label).join(', ')}`}
            {presets.map((preset, at) => (
              <Fragment key={preset.label}>
                {at > 0 && ', '}
                {preset.label}: <PresetValue {...preset} />
              </Fragment>
            ))}
          </option>
        ))}
      </select>
    </div>
  )
}

/** List of the values that a right sets. */
function Presets({ presets }: { readonly presets: readonly Preset[] }) {
  return (
    <dl>
      {presets.map((preset) => (
        <div key={preset.label}>
          <dt>{preset.label}</dt>
          <dd>
            <bdi>
              <PresetValue {...preset} />
            </bdi>
          </dd>
        </div>
      ))}
    </dl>
  )
}

/** The value of a preset. For a reference this is the name of the row, or its id if the reader may not read the row. */
function PresetValue({ value, references }: Preset) {
  const name = useNameOf(references === null ? [] : collectionsOf(references), references === null ? '' : value, '')
  return references === null ? value : name === value ? `id ${value}` : name
}

/** Says that the row is gone, and shows what was typed, so that the reader can copy it. */
function Gone({ work, close }: { readonly work: FormWork; close(): void }) {
  const discard = () => {
    work.discard()
    close()
  }
  return (
    <>
      <p role="alert">This row was deleted meanwhile, or you may no longer see it. Nothing was saved.</p>
      <Typed text={work.print()} discard={discard} />
    </>
  )
}

/** Shows what was typed about a row that is gone, or that the reader may not change any more. */
export function LostDraft({ plural, id }: Readonly<Record<'plural' | 'id', string>>) {
  const draftId = draftIdOf(plural, id)
  const draft = readDraft(draftId)
  if (draft === null) return null
  const lines = Object.entries(draft.texts).map(([name, text]) => `${wordsOf(...name.split('.'))}: ${draft.labels[name] || text}`)
  return <Typed text={lines.join('\n')} discard={() => forgetDraft(draftId)} />
}

/** Text that can no longer be saved, with buttons that copy and discard it. */
function Typed({ text, discard }: { readonly text: string; discard(): void }) {
  return (
    <section aria-label="What you typed">
      <p>You had typed what cannot be saved any more:</p>
      <pre>{text}</pre>
      <div class="bar">
        <CopyButton label="Copy what you typed" text={() => text} />
        <Button
          label="Discard"
          onClick={() => {
            discard()
            announce('')
          }}
        />
      </div>
    </section>
  )
}
