import { resolve } from 'node:path'
import type { AnyElysia } from 'elysia'
import type { OwnRoute } from '../http/ownRoutes.ts'

/** Routes of the Elysia app that is the default export of `file`, with the API's keys, limits and errors. @throws Error */
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
