// The variants of a form: each follows one right, because a single right must allow the whole write.
import { type Condition, collectionsOf, findNamed, type Resource, type Row, roleOf, wordsOf } from './resources.ts'
import { admits, type FormField, maySet, valuesAfter, type Writable, type WriteRight } from './writable.ts'

/** A form that follows one right. */
export interface Variant {
  readonly fields: readonly FormField[]
  /** Values that the right sets. */
  readonly presets: readonly Preset[]
  /**
   * True if a body must name all fields. The API uses the first right that lets the reader set all properties of the body: with
   * fewer properties, this could be an earlier right.
   */
  readonly isWhole: boolean
  /** True if the page knows that the right admits the row; false if only the server can tell. */
  readonly isSure: boolean
}

/** A value that a right sets: `Status`, `Requested`. */
export interface Preset {
  readonly label: string
  /** Text of the value, as the API has it. */
  readonly value: string
  /** Entity of the row whose id the value is; null: the value is no id. */
  readonly references: string | null
}

/**
 * Returns the forms for a new row. A right has no form if an earlier form has all fields that the right lets the reader set: the
 * earlier right would decide about the write.
 */
export function createVariants({ creates, createFields, entity }: Writable): readonly Variant[] {
  const variants: Variant[] = []
  for (const right of creates) {
    const settable = createFields.filter((field) => maySet(right, field))
    const isReached = !variants.some((earlier) => settable.every(({ name }) => earlier.fields.some((one) => one.name === name)))
    if (variants.length > 0 && !isReached) continue
    const presets = presetsOf(right, createFields, entity)
    const open = settable.filter(({ name }) => !isPreset(right, name)).map((field) => limited(field, right))
    variants.push({ fields: open, presets, isWhole: variants.length > 0, isSure: true })
  }
  return variants
}

/**
 * Returns the forms that change a row. A right has no form if it does not admit the row, or if the page has buttons for all
 * values that the right lets the reader set.
 */
export function updateVariants({ updates, updateFields }: Writable, resource: Resource, row: Row): readonly Variant[] {
  return updates.flatMap((right) => {
    const isAdmitted = admits(resource, right, row)
    if (isAdmitted === false) return []
    const settable = updateFields.filter((field) => maySet(right, field)).map((field) => limited(field, right))
    const isDecision = settable.every(({ name }) => decidedNames(right).includes(name))
    return isDecision ? [] : [{ fields: settable, presets: [], isWhole: false, isSure: isAdmitted === true }]
  })
}

/** Leaves out a form if another form has all of its fields. */
export function withoutContained(variants: readonly Variant[]): readonly Variant[] {
  const isWithin = (one: Variant, other: Variant) =>
    one.fields.every(({ name }) => other.fields.some((field) => field.name === name))
  return variants.filter(
    (one, index) =>
      !variants.some(
        (other, at) => at !== index && isWithin(one, other) && (one.fields.length < other.fields.length || at < index),
      ),
  )
}

/**
 * Returns the names of the properties for which a right lists the values after the update. The page has buttons for these values.
 */
function decidedNames({ becomes }: WriteRight): readonly string[] {
  return (becomes ?? []).filter(({ sign }) => sign === '=' || sign === '[]').map(({ name }) => name)
}

const isPreset = (right: WriteRight, name: string) =>
  right.conditions.some((condition) => condition.sign === '=' && condition.name.toLowerCase() === name.toLowerCase())

/** Returns the field, limited to the values, or to the referred rows, that the right allows after the write. */
function limited(field: FormField, right: WriteRight): FormField {
  if (field.references !== null) return { ...field, targets: targetsOf(field, right) }
  const values = valuesAfter(right, field.name)?.filter((value) => value !== '')
  return values === undefined ? field : { ...field, values, isListed: true }
}

/** Returns the conditions of a right on the rows to which a reference may lead: `EmployeeId.ManagerId=1` → `ManagerId=1`. */
function targetsOf({ name }: FormField, { conditions, becomes }: WriteRight): readonly Condition[] {
  const isOf = (condition: Condition) => `${condition.name}.`.toLowerCase().startsWith(`${name}.`.toLowerCase())
  const own = becomes?.filter(isOf) ?? []
  return (own.length > 0 ? own : conditions.filter(isOf)).map((condition) => ({
    ...condition,
    name: condition.name.slice(name.length + 1) || 'Id',
  }))
}

function presetsOf({ conditions }: WriteRight, fields: readonly FormField[], entity: string): readonly Preset[] {
  return conditions.flatMap(({ name, sign, values: [value = ''] }) => {
    // A condition on a related row, or on an empty value, sets no value of the new row.
    if (sign !== '=' || value === '' || (name.includes('.') && findNamed(fields, name) === undefined)) return []
    const references = findNamed(fields, name)?.references ?? referenceOf(entity, name)
    const label = wordsOf(...name.split('.'))
    return [{ label: references === null ? label : roleOf(label), value, references }]
  })
}

/**
 * Returns the entity to which a property refers. Returns null if the property is no reference, or if the reader may not read it.
 */
function referenceOf(entity: string, name: string): string | null {
  const properties = collectionsOf(entity).flatMap((collection) => collection.properties)
  return findNamed(properties, name)?.references ?? null
}
