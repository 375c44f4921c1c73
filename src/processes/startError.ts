// Errors that prevent a start: each says what the operator has to do.
import { once } from 'node:events'
import { createServer } from 'node:net'
import { errorOf } from '../errors.ts'
import { refusesTls } from '../execute/connect.ts'
import { lockPort } from '../os/folder.ts'

/** An error that an operator can fix; its message says how. */
export class StartError extends Error {}

/** Returns a handler for `catch` that throws a StartError, whose message begins with `what`. */
export function orStartError(what: string) {
  return (error: Error): never => {
    throw new StartError(`${what}: ${error.message || String(error)}`, { cause: error })
  }
}

/** PostgreSQL's codes for a missing right: insufficient_privilege, invalid_schema_name. */
const LACKS_RIGHT: readonly unknown[] = ['42501', '3F000']

const LACKING =
  'the role of DATABASE_URL lacks a right: let the owner of the tables run roster migrate, and grant what roster doctor names (docs/operations/databases.md, "Your own")'

/** Handles errors of the first statements at a start. @throws StartError; for a missing right it says how to grant it */
export function orDatabaseError(error: Error): never {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } }
  const lacksRight = LACKS_RIGHT.includes(code) || LACKS_RIGHT.includes(cause?.code)
  return orStartError(lacksRight ? LACKING : 'the database cannot be used')(error)
}

/** @throws StartError if `error` says that the database has no TLS, although its address requires TLS */
export async function requireTls(url: string, { message }: Error): Promise<void> {
  if (!/\bTLS\b/.test(message) || !(await refusesTls(url))) return
  throw new StartError(
    'the database takes no TLS, which sslmode in DATABASE_URL asks for: turn it on there, or leave sslmode out',
  )
}

/** Returns the result of `read`. @throws StartError with the message of an error that `read` throws */
export function readForStart<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new StartError(errorOf(error).message, { cause: error })
  }
}

interface Listening {
  readonly host: string
  readonly port: number
  readonly setting?: 'PORT' | 'ADMIN_PORT'
}

/**
 * Takes the port before anything is started. Otherwise, two servers could share the port, as the workers of one server do.
 * Returns a function that releases the port. @throws StartError
 */
export async function takePort(at: Listening): Promise<() => void> {
  const { host, port } = at
  const lock = port === 0 ? { release: () => undefined } : lockPort(host, port)
  if (lock === null) throw portTaken(at)
  try {
    const probe = createServer().listen(port, host)
    await once(probe, 'listening')
    await once(probe.close(), 'close')
  } catch (error) {
    lock.release()
    const { code, message } = error as NodeJS.ErrnoException
    throw code === 'EADDRINUSE' ? portTaken(at) : new StartError(`cannot listen on ${host}:${port}: ${message}`)
  }
  return lock.release
}

export function portTaken({ host, port, setting = 'PORT' }: Listening): StartError {
  return new StartError(`port ${port} on ${host} is taken by another program: stop it, or set ${setting}`)
}
