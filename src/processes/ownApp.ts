import { resolve } from 'node:path'
import type { AnyElysia } from 'elysia'

let served: AnyElysia | null = null

/**
 * The API of this process, to be used by the app of `APP_FILE` beside routes of its own.
 * @throws Error outside of a server, which alone has a database, keys and limits
 */
export function roster(): AnyElysia {
  if (served === null) throw new Error('roster() is for the module that APP_FILE names, which a server loads')
  return served
}

/** The app that is served: the API, or that of a module which uses it. @throws Error where its default export is none */
export async function ownApp(api: AnyElysia, file: string | null): Promise<AnyElysia> {
  if (file === null) return api
  served = api
  const { default: app } = await import(resolve(file))
  if (typeof app?.listen !== 'function') throw new Error(`${file} has no default export that is an Elysia app`)
  return app
}
