import type { ListedKey } from '../keys/store.ts'
import { formatTable } from './table.ts'

const HEADS = ['NAME', 'ID', 'RIGHTS', 'LIMITS', 'CREATED', 'LAST USED', 'STATE']

/** A table of keys, or a sentence where there are none. */
export function formatKeys(keys: readonly ListedKey[]): string {
  if (keys.length === 0) return 'There are no keys.\n'
  return formatTable([HEADS, ...keys.map(cellsOf)])
}

function cellsOf({ name, id, rights, limits, created, lastUsed, ...rest }: ListedKey): string[] {
  return [name, id, rights, limits ?? 'default', created, lastUsed ?? 'never', stateOf(rest)]
}

function stateOf({ state, expires, revoked }: Pick<ListedKey, 'state' | 'expires' | 'revoked'>): string {
  if (state === 'revoked') return `revoked ${revoked}`
  if (state === 'active') return 'active'
  return `${state === 'expired' ? 'expired' : 'expires'} ${expires}`
}
