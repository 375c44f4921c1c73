// Asks the database questions about rows, to decide the rights of persons where memory cannot answer.
import { compileOnly, compileSome, type RowsAsked } from '../compile/rowQuestions.ts'
import type { BatchableStatement } from '../model/batch.ts'
import type { Entity } from '../model/entity.ts'
import type { Filter } from '../model/query.ts'
import type { RowQuestions } from '../model/rowQuestions.ts'
import type { Row } from '../model/sql.ts'

/** A question that waits to be sent. All questions of one turn of the event loop are sent together. */
interface Waiting {
  readonly asked: RowsAsked
  readonly answer: PromiseWithResolvers<boolean>
}

/** Reads each row of `only` by a separate statement. All calls of `some` in one turn of the event loop share one statement. */
export class DatabaseQuestions implements RowQuestions {
  private waiting: Waiting[] = []

  constructor(private readonly read: (statement: BatchableStatement) => Promise<Row[]>) {}

  async only(entity: Entity, filters: readonly Filter[]): Promise<Row | null> {
    const [row = null, ...others] = await this.read(compileOnly({ entity, filters }))
    return others.length === 0 ? row : null
  }

  some(entity: Entity, filters: readonly Filter[]): Promise<boolean> {
    const answer = Promise.withResolvers<boolean>()
    if (this.waiting.length === 0) queueMicrotask(this.ask)
    this.waiting.push({ asked: { entity, filters }, answer })
    return answer.promise
  }

  private readonly ask = async () => {
    const { waiting } = this
    this.waiting = []
    try {
      const [row = []] = await this.read(compileSome(waiting.map(({ asked }) => asked)))
      for (const [index, { answer }] of waiting.entries()) answer.resolve(row[index] === 't')
    } catch (error) {
      for (const { answer } of waiting) answer.reject(error)
    }
  }
}
