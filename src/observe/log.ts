export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export const LOG_FORMATS = ['pretty', 'json'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]
export type LogFormat = (typeof LOG_FORMATS)[number]

/** Facts beside the message. Never a key, a query string or a value of a row: logs travel far. */
export type LogFields = Record<string, string | number | boolean>

export interface Log {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
  /** Writes what is waiting; for the moment before the process ends. */
  flush(): void
}

/** A reader too slow for us loses lines; the server does not lose memory. */
const WAITING_BYTES_MAX = 4 * 1024 * 1024
const FLUSH_MS = 50

/** One line an event, gathered for 50 ms so that a request costs no write of its own. */
export function createLog(level: LogLevel, format: LogFormat, stream: NodeJS.WriteStream = process.stdout): Log {
  const threshold = LOG_LEVELS.indexOf(level)
  const toLine = format === 'json' ? jsonLine : prettyLine
  let waiting = ''
  let lost = 0
  let timer: ReturnType<typeof setTimeout> | null = null

  // A reader that has gone is no reason to end; its lines go nowhere.
  if (stream.listenerCount('error') === 0) stream.on('error', () => undefined)

  const flush = () => {
    if (timer) clearTimeout(timer)
    timer = null
    if (lost > 0) waiting += toLine('warn', 'log lines were lost: their reader is too slow', { lost })
    lost = 0
    if (waiting) stream.write(waiting)
    waiting = ''
  }
  const at = (own: LogLevel) => {
    if (LOG_LEVELS.indexOf(own) < threshold) return () => undefined
    return (message: string, fields?: LogFields) => {
      if (waiting.length + stream.writableLength > WAITING_BYTES_MAX) {
        lost++
        return
      }
      waiting += toLine(own, message, fields)
      timer ??= setTimeout(flush, FLUSH_MS)
    }
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), flush }
}

function jsonLine(level: LogLevel, message: string, fields?: LogFields): string {
  return `${JSON.stringify({ time: new Date().toISOString(), level, message, ...fields })}\n`
}

function prettyLine(level: LogLevel, message: string, fields?: LogFields): string {
  let line = `${new Date().toISOString().slice(11, 23)} ${level.padEnd(5)} ${message}`
  for (const name in fields) line += ` ${name}=${fields[name]}`
  return `${line.replace(CONTROLS, '?')}\n`
}

// What a client sends must not move the cursor of an operator's terminal, or begin a line of its own.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g
