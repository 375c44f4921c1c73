import { createServer } from 'node:net'
import { lockPort } from '../os/folder.ts'
import { isInTimeWait } from '../os/portUse.ts'

/** A fault that an operator can mend; its message says how. */
export class StartError extends Error {}

/** A handler for `catch` that throws a StartError, which begins with `what`. */
export function orStartError(what: string) {
  return (error: Error): never => {
    throw new StartError(`${what}: ${error.message || String(error)}`, { cause: error })
  }
}

/** The same message, as one for the operator. */
export function asStartError(error: Error): StartError {
  return new StartError(error.message, { cause: error })
}

/**
 * Takes the port before anything is started, so that one that is taken costs nothing: workers share it, servers must not.
 * Returns what releases it. @throws StartError
 */
export async function takePort({ host, port }: { host: string; port: number }): Promise<() => void> {
  const lock = port === 0 ? null : lockPort(host, port)
  if (lock === null && port !== 0) throw takenByAnother({ host, port })
  try {
    await requireFree(host, port)
  } catch (error) {
    lock?.release()
    throw error
  }
  return () => lock?.release()
}

/** @throws StartError */
function requireFree(host: string, port: number): Promise<void> {
  return new Promise((done, fail) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => {
      const message = `cannot listen on ${host}:${port}: ${error.message}`
      fail(error.code === 'EADDRINUSE' ? portTaken({ host, port }) : new StartError(message))
    })
    probe.listen(port, host, () => probe.close(() => done()))
  })
}

/**
 * The StartError for a port that the kernel does not give. A server's own connections do not keep its port from the next
 * one, but a client's do, where the kernel has given it this port for its end.
 */
export function portTaken({ host, port }: { host: string; port: number }): StartError {
  if (!isInTimeWait(port)) return takenByAnother({ host, port })
  return new StartError(
    `port ${port} on ${host} is kept for a connection that has ended (TIME-WAIT): start again in a minute, or set PORT`,
  )
}

function takenByAnother({ host, port }: { host: string; port: number }): StartError {
  return new StartError(`port ${port} on ${host} is taken by another program: stop it, or set PORT`)
}
