/** What the doctor has found in one respect. `advice`: a server runs, and could do so better or more safely. */
export interface Finding {
  readonly check: string
  readonly state: 'ok' | 'advice' | 'fault'
  /** How it is; of advice and faults also what to do. */
  readonly text: string
}

export const ok = (check: string, text: string): Finding => ({ check, state: 'ok', text })
export const advice = (check: string, text: string): Finding => ({ check, state: 'advice', text })
export const fault = (check: string, text: string): Finding => ({ check, state: 'fault', text })
