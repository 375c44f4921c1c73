/**
 * How every connection of ours is made: soon again where one was lost, for as long as it lasts, and without a look at the
 * types that there are.
 */
export const CONNECTING = {
  fetch_types: false,
  connect_timeout: 2,
  backoff: () => 0.1,
  max_lifetime: null,
  onnotice: () => undefined,
} as const
