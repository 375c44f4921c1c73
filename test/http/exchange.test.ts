import { expect, test } from 'bun:test'
import { readTraceParent } from '../../src/http/exchange.ts'

const [TRACE, SPAN] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7']
const read = (traceparent: string) => readTraceParent(new Request('http://localhost', { headers: { traceparent } }))

test('a valid traceparent is read, and an invalid one is ignored', () => {
  for (const text of [
    `00-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-00`,
    `cc-${TRACE}-${SPAN}-01`,
    `cc-${TRACE}-${SPAN}-01-more`,
  ])
    expect([text, read(text)]).toEqual([text, { traceId: TRACE, spanId: SPAN }])
  for (const text of [
    ...['', 'x', `ff-${TRACE}-${SPAN}-01`, `00-${'0'.repeat(32)}-${SPAN}-01`, `00-${TRACE}-${'0'.repeat(16)}-01`],
    ...[`00-${TRACE.toUpperCase()}-${SPAN}-01`, `00-${TRACE}-${SPAN}`, `00-${TRACE}-${SPAN}-01-more`, `00-${TRACE}-${SPAN}-011`],
    `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
  ])
    expect([text, read(text)]).toEqual([text, null])
  expect(readTraceParent(new Request('http://localhost'))).toBeNull()
})
