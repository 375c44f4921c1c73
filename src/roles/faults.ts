// Faults of a roles file: collects all faults, each with its line.
import { ApiError, Refused } from '../errors.ts'

/** A fault with its line, counted from 1. */
export interface RolesFault {
  readonly line: number
  readonly message: string
}

/** Error of a text that is not a valid roles file. It has the faults in the order of their lines. */
export class RolesError extends Refused {
  constructor(readonly faults: readonly RolesFault[]) {
    super(faults.map(({ line, message }) => `line ${line}: ${message}`).join('\n'))
  }
}

/** Maximum faults that are reported; one fault can cause a hundred others. */
const FAULTS_MAX = 100

export class FaultList {
  private readonly found: RolesFault[] = []

  get isEmpty(): boolean {
    return this.found.length === 0
  }

  add(line: number, message: string): void {
    this.found.push({ line, message })
  }

  /** Returns the result of `read`. If `read` refuses a text of this line, notes the fault and returns undefined. */
  try<Result>(line: number, read: () => Result): Result | undefined {
    try {
      return read()
    } catch (error) {
      if (error instanceof FollowsFromFault) return undefined
      if (!(error instanceof Refused || error instanceof ApiError)) throw error
      this.add(line, error.message)
      return undefined
    }
  }

  /** @throws RolesError if there are faults */
  throwIfAny(): void {
    if (this.isEmpty) return
    const sorted = this.found.toSorted((one, other) => one.line - other.line)
    throw new RolesError(sorted.slice(0, FAULTS_MAX))
  }
}

/** Thrown for a text that cannot be read because of another fault, which has already been noted. */
export class FollowsFromFault extends Error {}
