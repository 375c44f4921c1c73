/** For tests that ask more of a server in a minute than any client may. D35 */
export const UNLIMITED = { RATE_LIMITS: '100000000/1m', RATE_LIMITS_ANONYMOUS: '100000000/1m' }
