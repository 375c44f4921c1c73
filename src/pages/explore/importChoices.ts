// The choices for the columns of a file: a property that gets the values of the column, or a reference whose rows are found by
// these values.
import type { Choice, Chosen } from './importColumns.ts'
import type { ImportProperty } from './importTarget.ts'
import { namingProperty } from './names.ts'
import { collectionsOf, findNamed, lowerFirst, type Property, type Resource } from './resources.ts'
import { createVariants, type Variant } from './variants.ts'
import { type FormField, maySet, type Writable } from './writable.ts'

/** Matches names of properties by which people know a row. Columns that refer to rows mostly have values of such a property. */
const TELLING = /name|number|mail|code|^title$/i

/**
 * Returns the form for new rows that has the most properties. An import uses only this form, because one right must allow all
 * properties of a row.
 */
export function widestVariant(writable: Writable): Variant | undefined {
  return createVariants(writable).reduce<Variant | undefined>(
    (best, one) => (best && best.fields.length >= one.fields.length ? best : one),
    undefined,
  )
}

/**
 * Returns the choices for a column, in the order of the form. The last choice is the id, which finds stored rows and is never
 * written.
 */
export function choicesFor(resource: Resource, writable: Writable): readonly Choice[] {
  const created = widestVariant(writable)?.fields ?? []
  const changed = writable.updateFields.filter((field) => writable.updates.some((right) => maySet(right, field)))
  const fields = [...created, ...changed.filter(({ name }) => findNamed(created, name) === undefined)]
  const choices = fields.flatMap((field) => {
    const rights = {
      mayCreate: created.includes(field),
      mayChange: findNamed(changed, field.name) !== undefined,
      isToItself: field.references === resource.rowsOf,
    }
    return choicesOf(resource, propertyOf(field, rights))
  })
  const id = findNamed(resource.properties, 'Id')
  return id === undefined ? choices : [...choices, choiceOf(idProperty(id), 'Id (finds the row)', ['Id'])]
}

function propertyOf(field: FormField, rights: Pick<ImportProperty, 'mayCreate' | 'mayChange' | 'isToItself'>): ImportProperty {
  return { ...field, ...rights, kind: { name: field.kind }, writable: true, reference: field.references, unique: null }
}

function idProperty({ name, path, label }: Property): ImportProperty {
  const none = {
    values: [],
    isListed: false,
    lengthMax: null,
    isNullable: true,
    isRequired: false,
    isEnd: false,
    isSigned: false,
    targets: [],
  }
  const rights = { writable: false, mayCreate: false, mayChange: false, isToItself: false }
  return { ...none, ...rights, name, path, label, kind: { name: 'integer' }, references: null, reference: null, unique: null }
}

const choiceOf = (property: ImportProperty, label: string, names: readonly string[]): Choice => ({
  value: property.name,
  label,
  names,
  property,
  by: null,
  byWords: '',
})

function choicesOf(resource: Resource, property: ImportProperty): readonly Choice[] {
  const { name, path, label, references } = property
  const names = [name, path.join(' '), path.join('.'), label]
  if (references === null) return [choiceOf(property, label, names)]
  const copied = resource.properties.find(({ copiedThrough, through }) => copiedThrough === name && through === null)
  const [target] = collectionsOf(references)
  const byId = choiceOf(property, `${label}: id`, [name, `${label} id`])
  if (target === undefined) return [byId]
  const naming = namingProperty(target)
  const telling = target.properties.filter(
    (one) => one.kind === 'text' && one.copiedThrough === null && (one === naming || TELLING.test(one.name)),
  )
  const sorted = telling.toSorted((one, other) => Number(other === naming) - Number(one === naming))
  const byNames = sorted.map((by): Choice => {
    const own = [`${name}.${by.name}`, `${label} ${by.label}`, `${label}: ${by.label}`]
    const first = by === naming ? [label, ...(copied ? [copied.name] : [])] : []
    return {
      value: `${name}=${by.name}`,
      label: `${label}: by ${lowerFirst(by.label)}`,
      names: [...first, ...own],
      property,
      by: by.name,
      byWords: lowerFirst(by.label),
    }
  })
  return [...byNames, byId]
}

/** Returns the properties that two columns would set. */
export function doubleChoices(chosen: Chosen, choices: readonly Choice[]): readonly ImportProperty[] {
  const properties = [...chosen.values()].flatMap((value) => choices.find((choice) => choice.value === value)?.property ?? [])
  return [...new Set(properties.filter((property, index) => properties.indexOf(property) !== index))]
}
