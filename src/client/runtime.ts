// Exports of `roster/client`: the code of a generated client, without the types of its entities.

export type * from './changes.ts'
export { changesOf } from './changes.ts'
export type * from './collection.ts'
export { collectionAt } from './collection.ts'
export type * from './connection.ts'
export { connect } from './connection.ts'
export { RosterError, type RosterFault } from './error.ts'
export type * from './query.ts'
export type * from './rights.ts'
export { rightsOf } from './rights.ts'
export type * from './summary.ts'
export type * from './sync.ts'
