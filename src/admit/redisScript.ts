import { countedMs, type Decision, formatRules, longestOf, type Rule } from '../model/limits.ts'

/**
 * Decides for one client by all rules at once and charges all of them or none; Redis runs nothing else meanwhile.
 * The value is 18 bytes of header, then a ring with the times of the last admissions, 6 bytes each. The header is the
 * number of admissions, the first of them that the rule with the longest period still counts, and the time of the last.
 * Times are whole milliseconds, cut; what is called a period here is how long an admission counts by them.
 */
export const ringScript = `
local key, now, depth, longest = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
if now == 0 then
  local clock = redis.call('TIME')
  now = clock[1] * 1000 + math.floor(clock[2] / 1000)
end

local head, first = 0, 0
local header = redis.call('GETRANGE', key, 0, 17)
if header ~= '' then
  local last
  head, first, last = struct.unpack('>I6I6I6', header)
  now = math.max(now, last) -- the server's clock may have been set back
end

local function time(number)
  local at = 18 + number % depth * 6
  return (struct.unpack('>I6', redis.call('GETRANGE', key, at, at + 5)))
end

-- A rule admits when the request that came as many before as its limit says counts no longer.
local rule, wait = 0, 0
for index = 0, (#ARGV - 3) / 2 - 1 do
  local limit = tonumber(ARGV[4 + 2 * index])
  if head >= limit then
    local left = time(head - limit) + tonumber(ARGV[5 + 2 * index]) - now
    if left > wait then rule, wait = index, left end
  end
end
if wait > 0 then return { 0, rule, 0, wait } end

-- Past what the longest rule no longer counts: doubling steps, then halves, since it may be the whole ring.
local limit, period, step = tonumber(ARGV[4 + 2 * longest]), tonumber(ARGV[5 + 2 * longest]), 1
local oldest = now
while first + step <= head do
  oldest = time(first + step - 1)
  if now - oldest < period then break end
  first, step, oldest = first + step, step * 2, now
end
local high = math.min(head, first + step - 1)
while first < high do
  local middle = math.floor((first + high) / 2)
  local at = time(middle)
  if now - at >= period then first = middle + 1 else high, oldest = middle, at end
end

redis.call('SETRANGE', key, 0, struct.pack('>I6I6I6', head + 1, first, now))
redis.call('SETRANGE', key, 18 + head % depth * 6, struct.pack('>I6', now))
redis.call('PEXPIRE', key, period)
return { 1, longest, limit - (head + 1 - first), oldest + period - now }
`

export const ringScriptHash = new Bun.CryptoHasher('sha1').update(ringScript).digest('hex')

/** What is sent of rules, written once: the same rules come with every request. */
const written = new WeakMap<readonly Rule[], { text: string; numbers: string[] }>()

/** What follows the script, or its hash, in a command. At `nowMs` 0 the server's clock decides. */
export function ringArguments(client: string, rules: readonly Rule[], nowMs = 0): string[] {
  let known = written.get(rules)
  if (!known) written.set(rules, (known = write(rules)))
  // The braces keep all keys of a client on one node of a cluster.
  return ['1', `roster:{${client}}:${known.text}`, String(nowMs), ...known.numbers]
}

function write(rules: readonly Rule[]) {
  const depth = Math.max(...rules.map(({ limit }) => limit))
  const numbers = [depth, longestOf(rules), ...rules.flatMap((rule) => [rule.limit, countedMs(rule)])]
  return { text: formatRules(rules), numbers: numbers.map(String) }
}

export function readDecision([admitted, rule, remaining, waitMs]: [number, number, number, number]): Decision {
  return { admitted: admitted === 1, rule, remaining, waitMs }
}
