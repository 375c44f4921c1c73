// Texts of answers, for comparisons and reports.

/** An object is null for the key if none of its visible parts has a value; for a whole key, hidden ones count, too. */
export function withoutEmpty(rows: string): string {
  return rows.replace(/\{(?:"\w+":null,?)+\}/g, 'null')
}

/** Returns what stands around a name, for a report. */
export function around(text: string, name: string): [string, string] {
  const at = text.search(new RegExp(name.split('.').at(-1) as string, 'i'))
  return [text.slice(Math.max(0, at - 150), at + 150), '']
}

/** Returns both texts from a little before they begin to differ. */
export function excerptsOf(one: string, other: string): { readonly left: string; readonly right: string } {
  let at = 0
  while (at < one.length && one[at] === other[at]) at++
  const show = (text: string) => JSON.stringify(text.slice(Math.max(0, at - 120), at + 300))
  return { left: show(one), right: show(other) }
}
