// Texts that the browser stores for this page. If the browser blocks storage, or has no room, the texts last until the page is
// left.

/** `localStorage` is shared by all tabs; `sessionStorage` ends with the tab. */
type Area = 'localStorage' | 'sessionStorage'

/** Texts that the browser could not store, by area and name. */
const unkept = new Map<string, string>()

export function readText(area: Area, name: string): string | null {
  return unkept.get(area + name) ?? attempt(() => window[area].getItem(name))
}

/** Stores a text. Returns whether it outlives the page. */
export function keepText(area: Area, name: string, text: string): boolean {
  // If the browser has no room for the new text, the older text must not stay.
  forgetText(area, name)
  unkept.set(area + name, text)
  attempt(() => {
    window[area].setItem(name, text)
    unkept.delete(area + name)
  })
  return !unkept.has(area + name)
}

export function forgetText(area: Area, name: string): void {
  unkept.delete(area + name)
  attempt(() => window[area].removeItem(name))
}

/** Forgets all texts of this page that end with the tab. */
export function forgetOwnTexts(): void {
  unkept.clear()
  attempt(() => {
    for (const name of Object.keys(window.sessionStorage)) if (name.startsWith('roster.')) window.sessionStorage.removeItem(name)
  })
}

/** Returns the result of `use`; null if the browser refuses it: SecurityError, QuotaExceededError, or no storage at all. */
function attempt<T>(use: () => T): T | null {
  try {
    return use()
  } catch {
    return null
  }
}
