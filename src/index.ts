// Exports of the package `roster`, for the app of a project.
export { Elysia } from 'elysia'
export { ask } from './http/ownRoutes.ts'
