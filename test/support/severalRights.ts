// Lets keys have several rights to one verb, as persons have them by their roles. The classes for the rights of persons read
// these rights.
import type { GrantedRights } from '../../src/model/access.ts'
import type { Entity } from '../../src/model/entity.ts'
import type { KeyRecord } from '../../src/model/key.ts'
import { uniteReads } from '../../src/rights/accesses.ts'
import { checkRight } from '../../src/rights/checks.ts'
import { parseRight } from '../../src/rights/grammar.ts'
import { NarrowRights, RightsReader } from '../../src/rights/reader.ts'

const read = RightsReader.prototype.read
/** Rights by reader and text, so that equal texts give the same object. */
const kept = new WeakMap<RightsReader, Map<string, GrantedRights>>()

/** Reads rights of which several may be to one verb. @throws RightError */
export function severalRights(text: string, entities: readonly Entity[]): GrantedRights {
  const rights = text.split('\n').flatMap((line) => parseRight(line, entities))
  const reads = rights.filter(({ verb }) => verb === 'read')
  for (const same of Map.groupBy(reads, ({ collection }) => collection).values()) uniteReads(same)
  for (const right of rights) checkRight(right, { possible: rights, certain: rights }, entities)
  return new NarrowRights(text, rights, null, entities, [])
}

/** Number of calls of `allowSeveralRights` that were not ended yet. */
let allowing = 0

/**
 * Lets all servers of this process, and checks of answers, accept keys that have several rights to one verb. Returns a function
 * that ends this, because other files of the process expect such keys to have no rights. If there are several calls, the last one
 * to end restores the normal behavior.
 */
export function allowSeveralRights(): () => void {
  allowing++
  RightsReader.prototype.read = function (this: RightsReader, record: Pick<KeyRecord, 'rights' | 'addresses'>) {
    const { addresses } = record
    const { entities } = this as unknown as { readonly entities: readonly Entity[] }
    if (addresses === null || !hasSeveral(addresses)) return read.call(this, record)
    const own = kept.getOrInsertComputed(this, () => new Map<string, GrantedRights>())
    return own.getOrInsertComputed(addresses, () => severalRights(addresses, entities))
  }
  return () => {
    allowing--
    if (allowing === 0) RightsReader.prototype.read = read
  }
}

/** Returns whether two rights have the same verb and the same collection. */
export function hasSeveral(text: string): boolean {
  const begins = text.split('\n').map((line) => /^\s*\S+\s+\/?[^\s?&]+/.exec(line)?.[0].toLowerCase())
  return new Set(begins).size < begins.length
}
