import type { Random } from '../../support/random.ts'

/** Makes a request with a broken framing or head from a valid request. RFC 9112 */
export function brokenHead(random: Random, request: Buffer): Buffer {
  const text = request.toString('latin1')
  const end = text.indexOf('\r\n\r\n')
  const [line = '', ...headers] = text.slice(0, end).split('\r\n')
  const parts = { line, headers, body: text.slice(end + 4) }
  return Buffer.from(random.pick(breaks)(parts, random), 'latin1')
}

interface Parts {
  line: string
  headers: string[]
  body: string
}

function joined({ line, headers, body }: Parts, ends = '\r\n'): string {
  return [line, ...headers, '', body].join(ends)
}

function withHeaders(parts: Parts, ...more: string[]): string {
  return joined({ ...parts, headers: [...parts.headers, ...more] })
}

/** Removes the headers that say where the body ends. */
function unframed(parts: Parts): Parts {
  return { ...parts, headers: parts.headers.filter((header) => !/^(content-length|transfer-encoding):/i.test(header)) }
}

const LENGTHS = ['-1', '+5', '5 ', '0x5', '5,5', '5, 6', '', ' ', '1e2', '99999999999999999999', '4294967296', '5\t', '٥']
const ENCODINGS = [
  ...['chunked, identity', 'identity, chunked', 'Chunked', 'chunked ', 'gzip, chunked', 'xchunked', '', 'chunked;a=b'],
  '\x0bchunked',
]
const CHUNKS = [
  ...['5\r\nhello\r\n0\r\n\r\n', '-1\r\n', 'FFFFFFFFFFFFFFFFF\r\nx', '5\nhello\n0\n\n', '5;a=b\r\nhello\r\n0\r\n\r\n'],
  ...['0x5\r\nhello\r\n0\r\n\r\n', '5 \r\nhello\r\n0\r\n\r\n', '5\r\nhelloworld\r\n0\r\n\r\n', 'g\r\n', '\r\n\r\n', ';\r\n'],
  ...[
    '2\r\n{}\r\n0\r\nTrailer: a\r\n\r\n',
    '2\r\n{}\r\n0\r\nContent-Length: 5\r\n\r\n',
    `${'0'.repeat(3_000)}2\r\n{}\r\n0\r\n\r\n`,
  ],
  ...[`2;${'x'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`, '2\r\n{}\r\n0\r\n', '2\r\n{}', '80000000\r\n', '7fffffffffffffff\r\n{}'],
]
const LINES = [
  ...['GET / HTTP/1.0', 'GET / HTTP/2.0', 'GET / HTTP/0.9', 'GET / http/1.1', 'GET /', 'GET  / HTTP/1.1', 'GET\t/\tHTTP/1.1'],
  ...[' GET / HTTP/1.1', 'G\0T / HTTP/1.1', 'GET / HTTP/1.1 ', 'GET / HTTP/1.1x', '/ HTTP/1.1', 'GET http:// HTTP/1.1', ''],
  ...['GET http://evil.example/Companies HTTP/1.1', 'GET * HTTP/1.1', 'OPTIONS * HTTP/1.1', 'CONNECT evil.example:443 HTTP/1.1'],
  ...['CONNECT /Companies HTTP/1.1', 'GET ?a=b HTTP/1.1', 'GET #a HTTP/1.1', 'GET /Companies#a HTTP/1.1', 'GET //// HTTP/1.1'],
  ...['get /Companies HTTP/1.1', 'gEt / HTTP/1.1', `${'A'.repeat(3_000)} / HTTP/1.1`, 'GET file:///etc/passwd HTTP/1.1'],
  ...['GET \\Companies HTTP/1.1', 'GET /Companies\0 HTTP/1.1', 'GET /\xff\xfe HTTP/1.1', 'GET @evil.example/ HTTP/1.1'],
]
const HOSTS = [
  ...['', 'a b', 'a,b', 'a\0b', '[::1', '[::1]', 'a:99999999', ':80', '\xff', '..', 'a@b', 'a/b', 'a?b'],
  `${'a'.repeat(9_000)}`,
]

const breaks: readonly ((parts: Parts, random: Random) => string)[] = [
  (parts, random) => withHeaders(parts, `Content-Length: ${random.pick(LENGTHS)}`),
  (parts, random) => withHeaders(unframed(parts), `Content-Length: ${random.pick(LENGTHS)}`),
  (parts) => withHeaders(parts, 'Content-Length: 5', 'Content-Length: 6'),
  (parts) => withHeaders(unframed(parts), 'Content-Length: 2', 'Content-Length: 2'),
  (parts) => withHeaders(parts, 'Content-Length: 4', 'Transfer-Encoding: chunked'),
  (parts) => withHeaders(parts, 'Transfer-Encoding: chunked', 'Transfer-Encoding: identity'),
  (parts, random) => withHeaders(unframed(parts), `Transfer-Encoding: ${random.pick(ENCODINGS)}`),
  (parts, random) =>
    withHeaders(
      { ...unframed(parts), body: random.pick(CHUNKS) },
      'Content-Type: application/json',
      'Transfer-Encoding: chunked',
    ),
  (parts) => withHeaders(unframed(parts), 'Content-Length: 5000000000'),
  (parts) => withHeaders(parts, 'Transfer-Encoding : chunked'),
  (parts) => withHeaders(parts, 'Content-Length : 3'),
  (parts) => withHeaders(parts, 'X: a\r\n folded'),
  (parts) => withHeaders(parts, ' leading: a'),
  (parts) => withHeaders(parts, 'no colon at all'),
  (parts) => withHeaders(parts, ': no name'),
  (parts) => withHeaders(parts, 'X\0Y: a'),
  (parts) => withHeaders(parts, 'X-Request-Id: a\0b'),
  (parts) => withHeaders(parts, 'X-Request-Id: a\rb'),
  (parts) => withHeaders(parts, 'X-Request-Id: a\nSet-Cookie: b=c'),
  (parts) => withHeaders(parts, `X: ${'a'.repeat(20_000)}`),
  (parts) => withHeaders(parts, ...Array.from({ length: 250 }, (_, at) => `X-${at}: a`)),
  (parts) => withHeaders(parts, ...Array.from({ length: 90 }, () => 'Authorization: ApiKey a')),
  (parts) => withHeaders(parts, ...Array.from({ length: 90 }, () => 'Content-Type: application/json')),
  (parts, random) =>
    withHeaders(parts, `Expect: ${random.pick(['100-continue', '100-Continue', '200-ok', '', 'x'.repeat(900)])}`),
  (parts) => withHeaders(parts, 'Connection: close, Content-Length, Authorization'),
  (parts) => withHeaders(parts, 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__'),
  (parts) => withHeaders(parts, 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Key: x', 'Sec-WebSocket-Version: 13'),
  (parts) => joined(parts, '\n'),
  (parts) => joined(parts, '\r'),
  (parts) => joined({ ...parts, headers: parts.headers.filter((header) => !/^host:/i.test(header)) }),
  (parts, random) =>
    withHeaders({ ...parts, headers: parts.headers.filter((header) => !/^host:/i.test(header)) }, `Host: ${random.pick(HOSTS)}`),
  (parts) => withHeaders(parts, 'Host: evil.example'),
  (parts, random) => joined({ ...parts, line: random.pick(LINES) }),
  (parts, random) =>
    joined({ ...parts, line: `${parts.line.split(' ')[0]} ${random.pick(LINES).split(' ')[1] ?? '/'} HTTP/1.1` }),
  (parts) => `\r\n\r\n${joined(parts)}`,
  (parts) => joined(parts) + joined(parts).slice(0, 30),
]
