// What programs import from `roster` in the module that APP_FILE names.
export { Elysia } from 'elysia'
export { roster } from './processes/ownApp.ts'
