// What programs import from `roster`.
export { Elysia } from 'elysia'
export { ask } from './http/ownRoutes.ts'
