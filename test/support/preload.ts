import { afterAll, beforeAll } from 'bun:test'
import { removeMemories } from './memory.ts'
import { startPostgres, stopPostgres } from './postgres.ts'

beforeAll(startPostgres, 60_000)
afterAll(stopPostgres, 20_000)
afterAll(removeMemories)
