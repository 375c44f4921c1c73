/** What a server says of a request that it does not answer as asked. */
export function messageOf(text: string, status: number): string {
  try {
    return JSON.parse(text).Error.Message
  } catch {
    return `the server answered with status ${status}, but not as Roster does`
  }
}
