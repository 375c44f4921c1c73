import type { Operation } from '../scenarios.ts'

/** A request as autocannon takes it, and the status that it must be answered with. */
export interface DrawnRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly status: number
}

export function drawRequests(operations: readonly Operation[], count: number, seed: number): DrawnRequest[]

export function requestSource(operations: readonly Operation[], seed: number): (count: number) => DrawnRequest[]

export function isRandom(operation: Pick<Operation, 'path' | 'body'>): boolean
