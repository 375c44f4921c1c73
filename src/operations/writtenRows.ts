// Answers with the rows that one request has written.
import type { Row } from '../model/sql.ts'
import { yieldEvery } from '../os/time.ts'
import { formOf } from '../parse/headers.ts'
import { NDJSON_TYPE, type Reply, respondJson } from '../respond/reply.ts'
import { type Written, withReplayed } from './idempotency.ts'

/** Makes the answer: an array, or NDJSON if the request accepts that. `textOf`: JSON of the row with this index. */
export async function respondWrittenRows(
  status: 200 | 201,
  { headers }: Request,
  written: Written,
  textOf: (row: Row, index: number) => string,
): Promise<Reply> {
  const yieldIfDue = yieldEvery()
  const isLines = formOf(headers.get('accept')) === 'ndjson'
  let text = ''
  for (const [index, row] of written.rows.entries()) {
    text += `${text === '' || isLines ? '' : ','}${textOf(row, index)}${isLines ? '\n' : ''}`
    const yielded = yieldIfDue()
    if (yielded !== null) await yielded
  }
  const reply = isLines ? respondJson(status, text, { 'Content-Type': NDJSON_TYPE }) : respondJson(status, `[${text}]`)
  return withReplayed(written, reply)
}
