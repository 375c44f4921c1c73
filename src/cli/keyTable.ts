import type { ListedKey } from '../keys/store.ts'

const HEADS = ['NAME', 'ID', 'RIGHTS', 'LIMITS', 'CREATED', 'LAST USED', 'STATE']

/** Aligned columns under a line of heads; each line ends with a line feed. */
export function formatKeys(keys: readonly ListedKey[]): string {
  if (keys.length === 0) return 'There are no keys.\n'
  const rows = [HEADS, ...keys.map(cellsOf)]
  const widths = HEADS.map((_, column) => Math.max(...rows.map((row) => Bun.stringWidth(row[column] ?? ''))))
  const lineOf = (row: string[]) =>
    row
      .map((cell, column) => pad(cell, widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  return rows.map((row) => `${lineOf(row)}\n`).join('')
}

function cellsOf({ name, id, rights, limits, created, lastUsed, ...rest }: ListedKey): string[] {
  return [name, id, rights, limits ?? 'default', created, lastUsed ?? 'never', stateOf(rest)]
}

function stateOf({ state, expires, revoked }: Pick<ListedKey, 'state' | 'expires' | 'revoked'>): string {
  if (state === 'revoked') return `revoked ${revoked}`
  if (state === 'active') return 'active'
  return `${state === 'expired' ? 'expired' : 'expires'} ${expires}`
}

/** By the columns of a terminal, of which some letters take two. */
function pad(text: string, width: number): string {
  return text + ' '.repeat(width - Bun.stringWidth(text))
}
