// The text of the roles file that workers start with. A text with faults never replaces a text without faults.
import { errorOf } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Entity } from '../model/entity.ts'
import { readRolesText } from '../roles/load.ts'
import { parseRoles, type Roles, RolesError } from '../roles/roles.ts'
import { orStartError, StartError } from './startError.ts'

export class RolesText {
  /** The last text with which all workers have started. */
  private proven: string | null = null
  /** The text that new workers get; null if the server has no roles file. */
  private current: string | null = null
  /**
   * The text that the last started worker got. `current` can be newer, because the file may be read again before a restart ends.
   */
  private taken: string | null = null

  /** `file`: the setting ROLES_FILE. */
  constructor(
    private readonly file: string | null,
    private readonly log: Log,
  ) {}

  /**
   * Reads and checks the file when the server starts. Returns null if there is no file. @throws StartError that has all faults
   */
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

  /**
   * Ends a restart. If all workers have started with the text (`isDone`), it becomes the proven text. Otherwise, new workers get
   * the last proven text again.
   */
  endRestart(isDone: boolean): void {
    if (isDone) this.proven = this.taken
    else this.current = this.proven
  }
}

/**
 * Parses the text for a worker. @throws StartError that names only the lines with faults, since the log must not have values of
 * rights
 */
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
