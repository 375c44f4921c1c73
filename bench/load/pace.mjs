/**
 * Makes a client of autocannon send at even intervals. autocannon's own rates send each second's share in one burst at
 * the second's start, which is full load for a part of it, not a part of the load for all of it.
 * A request that is due while the one before is unanswered waits; `client.waitedMs` says how long, since its sender
 * would have waited too. Lateness of our own timer is not counted.
 */
export function pace(client, intervalMs, offsetMs) {
  const send = client._doRequest
  let dueMs = performance.now() + offsetMs
  let timer
  client.waitedMs = 0
  const sendNow = (waitedMs) => {
    client.waitedMs = waitedMs
    dueMs += intervalMs
    send.call(client)
  }
  client._doRequest = () => {
    clearTimeout(timer)
    const leftMs = dueMs - performance.now()
    if (leftMs <= 0) sendNow(-leftMs)
    else timer = setTimeout(sendNow, leftMs, 0)
  }
}

/** Makes a client send nothing more; what is under way is still answered. */
export function quiet(client) {
  client._doRequest = () => undefined
}
