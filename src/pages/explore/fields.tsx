// The fields of a form. The kind of a property decides which control its field has.
import { Select } from './controls.tsx'
import { fromZone, toZone } from './format.ts'
import { zoneLabel } from './readerZone.ts'
import { ReferenceField } from './referenceField.tsx'
import type { ControlProps } from './typed.ts'
import type { FormField } from './writable.ts'

/** Returns the id of a property's control. By this id the form finds the control with a fault, to focus it. */
export const controlId = ({ name }: Pick<FormField, 'name'>) => `form-${name}`
const faultId = (field: FormField) => `${controlId(field)}-fault`

/** A label, the control of a property, and what is wrong with its value. */
export function FormRow(props: ControlProps) {
  const { field, fault } = props
  return (
    <div class="row">
      {field.kind === 'boolean' ? <YesOrNo {...props} /> : <Labelled {...props} />}
      {fault !== undefined && (
        <span class="hint" id={faultId(field)} role="alert">
          {fault}
        </span>
      )}
    </div>
  )
}

/** Attributes that every control has. */
function attributesOf({ field, fault }: Pick<ControlProps, 'field' | 'fault'>) {
  return {
    id: controlId(field),
    'aria-invalid': fault === undefined ? undefined : true,
    'aria-describedby': fault === undefined ? undefined : faultId(field),
    'aria-required': field.isRequired || undefined,
  }
}

function YesOrNo(props: ControlProps) {
  const { field, text, take } = props
  return (
    <label>
      <input
        type="checkbox"
        {...attributesOf(props)}
        checked={text === 'true'}
        onChange={({ currentTarget: { checked } }) => take(String(checked))}
      />{' '}
      {field.label}
    </label>
  )
}

function Labelled(props: ControlProps) {
  const { field } = props
  return (
    <>
      <label for={controlId(field)}>
        {field.label}
        {field.isRequired && ' (needed)'}
      </label>
      <Control {...props} />
    </>
  )
}

function Control(props: ControlProps) {
  const { field, text, take } = props
  const { kind, label, references, isListed, isNullable } = field
  if (references !== null) return <ReferenceField {...props} references={references} attributes={attributesOf(props)} />
  if (isListed) {
    const options = field.values.map((value) => ({ name: value, words: value }))
    const none = isNullable || text === '' ? [{ name: '', words: '– no value –' }] : []
    return (
      <Select {...attributesOf(props)} label={label} value={text} options={[...none, ...options]} take={(value) => take(value)} />
    )
  }
  if (kind === 'instant') return <InstantField {...props} />
  if (kind === 'date')
    return <input type="date" {...attributesOf(props)} value={text} onInput={({ currentTarget: { value } }) => take(value)} />
  return <TextField {...props} />
}

/** Maximum `lengthMax` of a property that gets a field of one line, in characters. */
const LINE_LENGTH = 200

/** A text or a number, with suggestions. */
function TextField(props: ControlProps) {
  const { field, text, take } = props
  const { kind, lengthMax, values } = field
  const shared = {
    ...attributesOf(props),
    value: text,
    autocomplete: 'off',
    onInput: ({ currentTarget: { value } }: { currentTarget: { value: string } }) => take(value),
  }
  // A field of one line would lose the line breaks that a text has.
  if (kind === 'json' || (kind === 'text' && (lengthMax === null || lengthMax > LINE_LENGTH || /[\r\n]/.test(text))))
    return <textarea rows={3} {...shared} />
  const list = values.length > 0 ? `${controlId(field)}-values` : undefined
  // On phones, keyboards for numbers have no minus sign. So a signed number gets the keyboard for texts.
  const inputMode = field.isSigned ? 'text' : kind === 'decimal' ? 'decimal' : kind === 'integer' ? 'numeric' : 'text'
  return (
    <>
      <input {...shared} inputMode={inputMode} list={list} />
      {list && (
        <datalist id={list}>
          {values.map((value) => (
            <option key={value} value={value} />
          ))}
        </datalist>
      )}
    </>
  )
}

/** Time of day if a day is chosen without a time. */
const FIRST = '00:00'
/** Time of day if the last day of a span is chosen without a time. The span then includes the whole day. */
const LAST = '23:59'

/** A day and a time of day in the chosen zone. A time of day without a day is kept as `T09:30`. */
function InstantField(props: ControlProps) {
  const { field, text, take } = props
  const [day = '', time = ''] = text.startsWith('T') ? ['', text.slice(1)] : (toZone(text)?.split('T') ?? [])
  const whole = field.isEnd ? LAST : FIRST
  const join = (newDay: string, newTime: string) => {
    if (newDay === '') return take(newTime === '' || time === whole ? '' : `T${newTime}`)
    const instant = fromZone(`${newDay}T${newTime || whole}`, text)
    // While somebody types a year such as 1985, the field first has a day of the year 1, which is no valid instant. Then nothing
    // is taken, because a new value in the field would interrupt the typing.
    if (instant !== null) take(instant)
  }
  return (
    <span class="field">
      <input type="date" {...attributesOf(props)} value={day} onInput={({ currentTarget: { value } }) => join(value, time)} />
      <input
        type="time"
        aria-label={`${field.label}: time, ${zoneLabel()}`}
        value={time.replace(/^(..:..):00$/, '$1')}
        onInput={({ currentTarget: { value } }) => join(day, value)}
      />
      <span class="count">{zoneLabel()}</span>
    </span>
  )
}
