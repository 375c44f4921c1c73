// The log: writes lines for people or programs, and loses lines rather than memory if its reader is slow.

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export const LOG_FORMATS = ['pretty', 'json'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]
export type LogFormat = (typeof LOG_FORMATS)[number]

/** Data of a line. They never contain a key, a query string or a value of a row, because logs are passed on. */
export type LogFields = Record<string, string | number | boolean>

/** Writes lines for the operator. A message is a constant text, so that it can be searched for; data are fields. */
export interface Log extends Record<LogLevel, (message: string, fields?: LogFields) => void> {
  /** True if lines of this level are written; if not, the caller need not compose them. */
  isEnabled(level: LogLevel): boolean
  /** Writes the waiting lines of a process that ends. Resolves when they are written, or `END_MS_MAX` has passed. */
  flush(): Promise<void>
}

/** Maximum bytes that wait for a slow reader; further lines are dropped. */
const WAITING_BYTES_MAX = 4 * 1024 * 1024
const FLUSH_MS = 50
/** Maximum bytes of a write that a pipe takes as a whole, so that lines of several processes do not mix. POSIX, PIPE_BUF. */
const PIECE_BYTES_MAX = 4_096
/** Maximum time that an ending process waits for its reader to take the last lines. */
const END_MS_MAX = 300
const LINE_FEED = 10

/** Returns the default format for a stream: text for people on a terminal, else JSON for programs. */
export function formatFor(stream: NodeJS.WriteStream): LogFormat {
  return stream.isTTY ? 'pretty' : 'json'
}

/**
 * Creates a log with one line per event, buffered for 50 ms so that requests share writes. `format`: null for the default of the
 * stream.
 */
export function createLog(level: LogLevel, format: LogFormat | null, stream: NodeJS.WriteStream = process.stdout): Log {
  const threshold = LOG_LEVELS.indexOf(level)
  const toLine = (format ?? formatFor(stream)) === 'json' ? jsonLine : prettyLine
  let waiting = ''
  let lost = 0
  let timer: ReturnType<typeof setTimeout> | null = null
  const pieces = writePieces(stream)

  // If the reader is gone, the server goes on without a log.
  if (stream.listenerCount('error') === 0) stream.on('error', () => undefined)

  const flush = () => {
    if (timer) clearTimeout(timer)
    timer = null
    if (lost > 0) waiting += toLine('warn', 'log lines were lost: their reader is too slow', { lost })
    lost = 0
    if (waiting) pieces.add(waiting)
    waiting = ''
    return pieces.written()
  }
  const isEnabled = (own: LogLevel) => LOG_LEVELS.indexOf(own) >= threshold
  const at = (own: LogLevel) => {
    if (!isEnabled(own)) return () => undefined
    return (message: string, fields?: LogFields) => {
      if (waiting.length + pieces.waitingBytes() > WAITING_BYTES_MAX) {
        lost++
        return
      }
      waiting += toLine(own, message, fields)
      timer ??= setTimeout(flush, FLUSH_MS)
    }
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), isEnabled, flush }
}

/**
 * Returns a writer of whole lines in small pieces. It waits until a piece is written before it writes the next, because a stream
 * would join waiting pieces.
 */
function writePieces(stream: NodeJS.WriteStream) {
  const blocks: Buffer[] = []
  let waitingBytes = 0
  let writing: Promise<void> | null = null

  const writeAll = async () => {
    for (let block = blocks[0]; block !== undefined; block = blocks[0]) {
      const piece = block.subarray(0, pieceEnd(block))
      if (piece.length === block.length) blocks.shift()
      else blocks[0] = block.subarray(piece.length)
      waitingBytes -= piece.length
      await new Promise<void>((resolve) => stream.write(piece, () => setImmediate(resolve)))
    }
    writing = null
  }
  return {
    add(lines: string) {
      const block = Buffer.from(lines)
      blocks.push(block)
      waitingBytes += block.length
      writing ??= writeAll()
    },
    waitingBytes: () => waitingBytes,
    async written() {
      if (writing !== null) await Promise.race([writing, Bun.sleep(END_MS_MAX)])
    },
  }
}

/** Returns the end of the last line that fits into a piece. A line that is longer than a piece is written by itself. */
function pieceEnd(block: Buffer): number {
  if (block.length <= PIECE_BYTES_MAX) return block.length
  const last = block.lastIndexOf(LINE_FEED, PIECE_BYTES_MAX - 1)
  return (last === -1 ? block.indexOf(LINE_FEED) : last) + 1
}

function jsonLine(level: LogLevel, message: string, fields?: LogFields): string {
  return `${JSON.stringify({ time: new Date().toISOString(), level, message, ...fields })}\n`
}

function prettyLine(level: LogLevel, message: string, fields?: LogFields): string {
  let line = `${new Date().toISOString().slice(11, 23)} ${level.padEnd(5)} ${message}`
  for (const name in fields) line += ` ${name}=${fields[name]}`
  // Each event has one line.
  return `${printable(line).replaceAll('\n', '?')}\n`
}

/** Replaces control characters, except line feeds, by `?`, so that text from outside cannot control a terminal. */
export function printable(text: string): string {
  return text.replace(CONTROLS, (character) => (character === '\n' ? character : '?'))
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g
