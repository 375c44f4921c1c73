// The text of the roles file that workers start with. A text with faults never replaces one without.
import { errorOf } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Entity } from '../model/entity.ts'
import { readRolesText } from '../roles/load.ts'
import { parseRoles, type Roles, RolesError } from '../roles/roles.ts'
import { orStartError, StartError } from './startError.ts'

export class RolesText {
  /** The last text with which all workers have started. */
  private proven: string | null = null
  /** The text that new workers get: null without a file. */
  private current: string | null = null
  /** The text that a worker got last: a newer one may be read while a restart ends. */
  private taken: string | null = null

  /** `file`: the setting ROLES_FILE. */
  constructor(
    private readonly file: string | null,
    private readonly log: Log,
  ) {}

  /** Reads and checks the file for a start. Null: there is none. @throws StartError that has all faults */
  readForStart(entities: readonly Entity[]): Roles | null {
    if (this.file === null) return null
    try {
      this.proven = this.current = readRolesText(this.file)
      return parseRoles(this.current, entities)
    } catch (error) {
      if (error instanceof RolesError)
        throw new StartError(`ROLES_FILE ${this.file} has faults:\n${error.message}`, { cause: error })
      return orStartError('ROLES_FILE')(errorOf(error))
    }
  }

  /** Returns the text for a worker that starts now. */
  take(): string | null {
    this.taken = this.current
    return this.taken
  }

  /** Reads the file for new workers, which check it. Returns false, and logs why, if it cannot be read. */
  readAnew(): boolean {
    if (this.file === null) return true
    try {
      this.current = readRolesText(this.file)
      return true
    } catch (error) {
      this.log.error('the roles file cannot be read: the workers stay as they are', { error: errorOf(error).message })
      return false
    }
  }

  /** Keeps the text of a restart that is over, or goes back to the one before if a worker could not start with it. */
  endRestart(isDone: boolean): void {
    if (isDone) this.proven = this.taken
    else this.current = this.proven
  }
}

/** Parses the text for a worker. @throws StartError that names the lines alone, since the log must not have values of rights */
export function parseForWorker(text: string | null, entities: readonly Entity[]): Roles | null {
  if (text === null) return null
  try {
    return parseRoles(text, entities)
  } catch (error) {
    if (!(error instanceof RolesError)) throw error
    const lines = [...new Set(error.faults.map(({ line }) => line))].join(', ')
    throw new StartError(`ROLES_FILE has faults, which roster roles check explains, in the lines ${lines}`, { cause: error })
  }
}
