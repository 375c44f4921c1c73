// Selects the components of the OpenAPI document to which its paths refer.
import type { Part } from './schema.ts'

/** Sections of `components` with their named parts. */
type Components = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** Returns the components to which `paths` refer, directly or through other components, in the order of `components`. */
export function referredFrom<Own extends Components>(components: Own, paths: Readonly<Record<string, Part>>): Own {
  const found = new Set<string>()
  const waiting: unknown[] = [paths]
  const follow = (reference: string) => {
    if (found.has(reference)) return
    found.add(reference)
    const [section = '', name = ''] = reference.split('/').slice(2)
    waiting.push(components[section]?.[name])
  }
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value !== 'object' || value === null) continue
    for (const [key, inner] of Object.entries(value)) {
      if (key === '$ref') follow(inner as string)
      else if (typeof inner === 'object' && inner !== null) waiting.push(inner)
    }
  }
  const sections = Object.entries(components).map(([section, named]) => {
    const isFound = ([name]: [string, unknown]) => found.has(`#/components/${section}/${name}`)
    return [section, Object.fromEntries(Object.entries(named).filter(isFound))]
  })
  return Object.fromEntries(sections) as Own
}
