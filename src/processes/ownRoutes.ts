import { resolve } from 'node:path'
import type { AnyElysia } from 'elysia'
import type { OwnRoute } from '../http/ownRoutes.ts'

/**
 * The routes of the app that is the default export of `file`. They are served beside the API's by the API itself, whose keys,
 * limits and errors they have. @throws Error where its default export is none
 */
export async function ownRoutes(file: string | null): Promise<OwnRoute[]> {
  if (file === null) return []
  const { default: app } = await import(resolve(file))
  if (typeof app?.handle !== 'function' || !Array.isArray(app.routes))
    throw new Error(`${file} has no default export that is an Elysia app`)
  return (app as AnyElysia).routes.map(({ method, path, hooks }): OwnRoute => {
    if (method === 'WS' || /\*/.test(path))
      throw new Error(`${file} cannot have the route ${method} ${path}: it must be of a method and of segments`)
    const { security } = (hooks?.detail ?? {}) as { security?: unknown }
    return {
      method,
      path,
      isOpen: Array.isArray(security) && security.length === 0,
      handle: async (request) => app.handle(request),
    }
  })
}
