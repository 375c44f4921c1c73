/** An error that a client can get: its status; what it means, why it is so, and what to do, for its page. */
export interface ErrorTexts {
  status: number
  title: string
  explanation: string
  remedy: string
}
