// Texts that the browser keeps for this page. Where it blocks storage, or has no room, they are kept until the page is left.

/** `localStorage` is of all tabs; `sessionStorage` ends with the tab. */
type Area = 'localStorage' | 'sessionStorage'

/** Texts that the browser has not taken, by name. */
const unkept = new Map<string, string>()

export function readText(area: Area, name: string): string | null {
  return unkept.get(name) ?? attempt(() => window[area].getItem(name))
}

export function keepText(area: Area, name: string, text: string): void {
  // Else a text that has no room would leave the one before.
  forgetText(area, name)
  unkept.set(name, text)
  attempt(() => {
    window[area].setItem(name, text)
    unkept.delete(name)
  })
}

export function forgetText(area: Area, name: string): void {
  unkept.delete(name)
  attempt(() => window[area].removeItem(name))
}

/** Returns null where the browser refuses: SecurityError, QuotaExceededError, or no storage at all. */
function attempt<T>(use: () => T): T | null {
  try {
    return use()
  } catch {
    return null
  }
}
