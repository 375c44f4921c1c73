import { expect, test } from 'bun:test'
import { asksNow } from '../../src/parse/cacheControl.ts'

const asks = (text?: string) => asksNow(new Headers(text === undefined ? {} : { 'Cache-Control': text }))

test.each([
  'no-cache',
  'No-Cache',
  'max-age=0, no-cache',
  'no-cache,no-store',
  ' no-cache ',
  'no-cache="x"',
  'a,\tno-cache',
])('D49: "%s" asks for what the database has now', (text) => expect(asks(text)).toBe(true))

test.each([undefined, '', 'max-age=0', 'no-store', 'no-cachet', 'xno-cache', 'x-no-cache', 'no cache'])(
  'D49: "%s" does not',
  (text) => expect(asks(text)).toBe(false),
)
