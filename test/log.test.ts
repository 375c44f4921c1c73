import { describe, expect, test } from 'bun:test'
import { Writable } from 'node:stream'
import { createLog, LOG_LEVELS, type Log, type LogFormat, type LogLevel, printable } from '../src/log.ts'

/** A log that writes into `written`; who is `stalled` takes nothing before `release`. */
function logTo(level: LogLevel, format: LogFormat | null, { stalled = false, isTTY = false } = {}) {
  const written: string[] = []
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const stream = new Writable({
    write(chunk, _, done) {
      written.push(String(chunk))
      if (stalled) released.then(() => done())
      else done()
    },
  })
  const log = createLog(level, format, Object.assign(stream, { isTTY }) as unknown as NodeJS.WriteStream)
  return { log, stream, written, release, lines: () => written.join('').split('\n').slice(0, -1) }
}

const logAll = (log: Log) => {
  for (const level of LOG_LEVELS) log[level](`at ${level}`)
  log.flush()
}

for (const [level, expected] of [
  ['debug', ['debug', 'info', 'warn', 'error']],
  ['info', ['info', 'warn', 'error']],
  ['warn', ['warn', 'error']],
  ['error', ['error']],
] as const)
  test(`the log at level ${level} has messages of the levels ${expected.join(', ')}`, () => {
    const { log, lines } = logTo(level, 'json')
    logAll(log)
    expect(lines().map((line) => JSON.parse(line).level)).toEqual([...expected])
  })

describe('the format json', () => {
  test('is one object per line: time, level, message, fields', () => {
    const { log, lines } = logTo('info', 'json')
    log.info('GET / 200', { ms: 1.5, requestId: 'a', cached: false })
    log.flush()
    const { time, ...rest } = JSON.parse(lines()[0] ?? '')
    expect(rest).toEqual({ level: 'info', message: 'GET / 200', ms: 1.5, requestId: 'a', cached: false })
    expect(new Date(time).toISOString()).toBe(time)
  })
})

describe('the format of the log, if none is set,', () => {
  const written = (isTTY: boolean) => {
    const { log, written: pieces } = logTo('info', null, { isTTY })
    log.info('here', { a: 1 })
    log.flush()
    return pieces.join('')
  }

  test('is pretty on a terminal', () => {
    expect(written(true)).toMatch(/^\d\d:\d\d:\d\d\.\d{3} info {2}here a=1\n$/)
  })

  test('is json without a terminal', () => {
    expect(JSON.parse(written(false))).toMatchObject({ level: 'info', message: 'here', a: 1 })
  })
})

describe('the format pretty', () => {
  test('is time, level, message and fields', () => {
    const { log, lines } = logTo('info', 'pretty')
    log.warn('slow', { ms: 12, requestId: 'a' })
    log.flush()
    expect(lines()).toEqual([expect.stringMatching(/^\d\d:\d\d:\d\d\.\d{3} warn {2}slow ms=12 requestId=a$/)])
  })

  test('has no control characters from texts of clients, which could move the cursor or begin a line', () => {
    const { log, lines } = logTo('info', 'pretty')
    log.info('GET /\u001b[2J\n12:00:00 error forged', { id: 'a\rb\u0085c\u2028d\u007f' })
    log.flush()
    expect(lines()).toEqual([expect.stringContaining('GET /?[2J?12:00:00 error forged id=a?b?c?d?')])
  })
})

test('lines are collected and written together in order, even without a flush', async () => {
  const { log, written, lines } = logTo('info', 'json')
  log.info('first')
  log.info('second')
  expect(written).toEqual([])
  while (written.length === 0) await Bun.sleep(5)
  expect(written).toHaveLength(1)
  expect(lines().map((line) => JSON.parse(line).message)).toEqual(['first', 'second'])
})

test('if nothing reads the output, lines are dropped, and their number is written later', async () => {
  const { log, stream, written, release } = logTo('info', 'json', { stalled: true })
  const kilobytes = 'x'.repeat(1024)
  for (let line = 0; line < 10_000; line++) log.info(kilobytes)
  const flushed = log.flush()
  expect([written.length, stream.writableLength < 5_000]).toEqual([1, true])
  release()
  await flushed
  const all = written.join('')
  const kept = all.split(kilobytes).length - 1
  const { lost } = JSON.parse(all.trim().split('\n').at(-1) ?? '')
  expect(kept + lost).toBe(10_000)
  expect([kept > 1_000, all.length < 5 * 1024 * 1024]).toEqual([true, true])
})

test('lines are written in order, in chunks of whole lines of up to 4,096 bytes; a longer line is a chunk of its own', async () => {
  const { log, written } = logTo('info', 'json')
  const texts = Array.from({ length: 300 }, (_, line) => `${line} ${'é'.repeat((line * 37) % 400)}`)
  texts[100] = `100 ${'x'.repeat(10_000)}`
  for (const text of texts) log.info(text)
  await log.flush()
  const sizes = written.map((piece) => Buffer.byteLength(piece))
  expect(sizes.filter((bytes) => bytes > 4_096)).toHaveLength(1)
  expect(written.length).toBeLessThan(60)
  for (const piece of written) expect(piece.endsWith('\n')).toBe(true)
  const lines = written.join('').trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line).message)).toEqual(texts)
})

test('a flush ends even if nothing reads the output', async () => {
  const { log } = logTo('info', 'json', { stalled: true })
  log.info('never taken')
  await log.flush()
  log.info('nor is this')
  await log.flush()
})

test('a text for a terminal has line feeds, and no other control characters', () => {
  expect(printable('a\tb\r\nc\x1b[2Jd\x9be\u2028f\x7f')).toBe('a?b?\nc?[2Jd?e?f?')
  expect(printable('Größe 日本 😀')).toBe('Größe 日本 😀')
})
