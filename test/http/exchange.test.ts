import { describe, expect, test } from 'bun:test'
import { readTraceParent } from '../../src/http/exchange.ts'

const [TRACE, SPAN] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7']
const read = (traceparent: string) => readTraceParent(new Request('http://localhost', { headers: { traceparent } }))

describe('traceparent', () => {
  test.each([`00-${TRACE}-${SPAN}-01`, `00-${TRACE}-${SPAN}-00`, `cc-${TRACE}-${SPAN}-01`, `cc-${TRACE}-${SPAN}-01-more`])(
    '%s is read',
    (text) => {
      expect(read(text)).toEqual({ traceId: TRACE, spanId: SPAN })
    },
  )

  test.each([
    '',
    'x',
    `ff-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}-011`,
    `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
  ])('%s is ignored', (text) => {
    expect(read(text)).toBe(null)
  })

  test('that is not there is none', () => {
    expect(readTraceParent(new Request('http://localhost'))).toBe(null)
  })
})
