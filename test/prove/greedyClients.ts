/** Below the default limit of 750 a minute. */
export const PAUSE_MS = 85

/** The status of an answer that was read to its end; 0: the client left, or the connection broke. */
export async function statusOf(url: string, key: string, signal: AbortSignal | null): Promise<number> {
  const headers: Record<string, string> = key === '' ? {} : { authorization: `ApiKey ${key}` }
  try {
    const response = await fetch(url, { headers, ...(signal ? { signal } : {}) })
    await response.text()
    return response.status
  } catch {
    return 0
  }
}

if (import.meta.main) {
  const { URL = '', KEYS = '', CONNECTIONS, LEAVE_MS } = process.env
  const [keys, connections] = [KEYS.split(','), Number(CONNECTIONS)]
  let asked = 0
  const client = async (number: number) => {
    for (;;) {
      const list = `/Absences?Reason=!=x${asked}&Type=!=Type 3&sort=Employee,-Period.Hours,Reason&page=${++asked}`
      const signal = LEAVE_MS ? AbortSignal.timeout(Number(LEAVE_MS)) : null
      await statusOf(URL + list, keys[number % keys.length] as string, signal)
      // All clients of a key together send as many as its limit admits.
      await Bun.sleep((PAUSE_MS * connections) / keys.length)
    }
  }
  process.on('SIGTERM', () => {
    console.log(`${asked} were asked for`)
    process.exit(0)
  })
  for (let number = 0; number < connections; number++) client(number)
  console.log('all clients ask')
}
