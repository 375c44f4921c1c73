// Texts that the browser stores for this page. If it blocks storage, or has no room, they last until the page is left.

/** `localStorage` is shared by all tabs; `sessionStorage` ends with the tab. */
type Area = 'localStorage' | 'sessionStorage'

/** Texts that the browser could not store, by name. */
const unkept = new Map<string, string>()

export function readText(area: Area, name: string): string | null {
  return unkept.get(name) ?? attempt(() => window[area].getItem(name))
}

export function keepText(area: Area, name: string, text: string): void {
  // Without this, an older text would stay if the new one has no room.
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

/** Runs `use`; null if the browser refuses: SecurityError, QuotaExceededError, or no storage at all. */
function attempt<T>(use: () => T): T | null {
  try {
    return use()
  } catch {
    return null
  }
}
