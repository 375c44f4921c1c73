// Two ways to start Roster in a test. `useServer` and `startServer` run it in the test's process, over HTTP, with a client that
// checks each answer; most tests use them. `useProcess` and `startProcess` run it in processes of its own, as an operator does:
// for signals, settings, workers, and data that outlives a process. With `use`, all tests of a file or a `describe` share a
// server; with `start`, one test has it.
import { afterAll, beforeAll, onTestFinished } from 'bun:test'
import type { RunningProgram } from './process.ts'
import { openServer, type ServerOptions, type TestServer } from './server.ts'
import { type ServerProcess, ServerProcesses } from './serverProcesses.ts'

type Settings = Record<string, string>
/** A value, or a function that returns it. The function runs before the first test, after earlier `beforeAll`s. */
type Given<Value> = Value | (() => Value | Promise<Value>)

/** Starts a server in this process for all tests of a file or a `describe`, by default on a database of its own. */
export function useServer(options: Given<ServerOptions> = {}): TestServer {
  const server = {} as TestServer
  beforeAll(async () => {
    Object.assign(server, await openServer(await resolved(options)))
  })
  afterAll(() => server.stop?.())
  return server
}

/** Starts a server in this process for the test that calls it. */
export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  const server = await openServer(options)
  onTestFinished(() => server.stop())
  return server
}

/** Starts a server in processes of its own for all tests of a file or a `describe`. */
export function useProcess(settings: Given<Settings>): ServerProcess {
  const processes = new ServerProcesses()
  const served = {} as ServerProcess
  beforeAll(async () => {
    Object.assign(served, await processes.start(await resolved(settings)))
  })
  afterAll(() => processes.end())
  return served
}

const ofTest = new ServerProcesses()

/** Starts a server in processes of its own for the test that calls it. */
export function startProcess(settings: Settings = {}, command?: readonly string[]): Promise<ServerProcess> {
  onTestFinished(() => ofTest.end())
  return ofTest.start(settings, command)
}

/** As `startProcess`, but returns at once, for a server that does not start. */
export function launchProcess(settings: Settings = {}, command?: readonly string[]): RunningProgram {
  onTestFinished(() => ofTest.end())
  return ofTest.launch(settings, command)
}

/**
 * Creates a data folder for the test that calls it. At the end of the test, the folder is deleted, and the shared memory of a
 * server on this port.
 */
export function dataFolder(port = 0): string {
  onTestFinished(() => ofTest.end())
  return ofTest.dataFolder(port)
}

const resolved = <Value extends object>(given: Given<Value>) =>
  typeof given === 'function' ? (given as () => Value | Promise<Value>)() : given
