import type { Entity } from '../model/entity.ts'
import { createPages } from '../pages/pages.ts'

/** The route of every endpoint, as the log names it, for those who count requests without serving any. */
export function routeNames(entities: readonly Entity[]): string[] {
  const pages = Object.keys(createPages(entities, () => ''))
  const own = entities.flatMap(({ plural }) => [plural, `${plural}/{id}`, `${plural}/{id}/Changes`])
  return [...pages, 'livez', 'readyz', 'openapi.json', ...own, 'Changes'].map((path) => `/${path}`)
}
