/** What an attacker, or an unlucky name, puts where a value is expected. */
export const hostileTexts = [
  "'",
  "O'Brien'; drop table company; --",
  "x' or '1'='1",
  '1); delete from absence; select (1',
  "' union select null, version(), null --",
  "'; select pg_sleep(10); --",
  '"',
  '--',
  ';',
  '$1',
  '$$',
  '$tag$x$tag$',
  '\\',
  "\\'",
  '\\x27; --',
  "E'\\047'",
  'null, null',
  'default',
  '%',
  '%00',
  '%2527%20or%201=1',
  '%c0%ae%c0%ae',
  '../../etc/passwd',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a template is what it tries to be
  '${7*7}',
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  '__proto__',
  'constructor',
  'toString',
  '__proto__[x]',
  '{"$ne": null}',
  'a\r\nSet-Cookie: a=b',
  '\r\n\r\nHTTP/1.1 200 OK\r\n',
  '\n',
  '\t',
  '\u001b[2J',
  '\u007f',
  '\u2028',
  '\ufeff',
  '\u202e gnol',
  '\uff07; drop',
  'ı',
  'İ',
  'K', // the Kelvin sign, which lower-cases to k
  'e\u0301',
  '\u{1f468}\u200d\u{1f469}',
  '\u{10ffff}',
  '\0',
  "a\0'; --",
  'a'.repeat(1_000),
  "'".repeat(500),
]

/** What only the inside says; none of it is in a hostile text, so an echo is not mistaken for it. */
export const LEAK =
  /PostgresError|SQLSTATE|syntax error|unterminated|invalid input|invalid byte|relation "|column "|violates|constraint|operator does not exist|order by|where id|returning|SyntaxError|TypeError|RangeError|node_modules|\.ts:\d|\bat \w+ \(/

/** Bytes that no URL should hold, though a socket can carry them and the server takes them. */
export const hostileBytes = ['\x7f', '\xff', '\xc3\x28', '\xc3\xa9', '"', '<', '>', '`', '{|}', '\\', '^', '[', "'"]
