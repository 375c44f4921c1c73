// What programs import from `roster` in the module that APP_FILE names.
export { Elysia } from 'elysia'
export { ask } from './http/ownRoutes.ts'
