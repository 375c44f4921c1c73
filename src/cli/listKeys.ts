// `roster keys list`: a line for each key, and below it its rights by row and property.
import type { Config } from '../config/config.ts'
import type { ListedKey } from '../keys/store.ts'
import { loadEntities } from '../registry.ts'
import { findMisfits } from '../rights/misfits.ts'
import { withKeys } from './openDatabase.ts'
import { counted, formatTable, report } from './output.ts'

const HEADS = ['NAME', 'ID', 'RIGHTS', 'LIMITS', 'CREATED', 'LAST USED', 'STATE']

export async function listKeys(config: Config, json: true | undefined): Promise<void> {
  const entities = await loadEntities(config.entitiesDir)
  const listed = await withKeys(config, (store) => store.list())
  // Rights of a key that has ended hold for nothing, whether they fit or not.
  const misfits = findMisfits(listed.filter(isInForce), entities)
  const faults = new Map(misfits.map(({ key, fault }) => [key, fault]))
  const data = listed.map((key) => {
    const { addresses, ...shown } = key
    return { ...shown, rights: addresses ?? key.rights, fault: faults.get(key) ?? null }
  })
  if (listed.length === 0) return report(json, data, 'There are no keys.\n')
  const [head, ...lines] = formatTable([HEADS, ...listed.map(cellsOf)]).match(/.*\n/g) as string[]
  const texts = listed.map((key, index) => {
    const fault = faults.get(key)
    const below = [...(linesOf(key) ?? []), ...(fault === undefined ? [] : [`None of them holds: ${fault}`])]
    return [lines[index], ...below.map((line) => `  ${line}\n`)].join('')
  })
  return report(json, data, head + texts.join(''))
}

function isInForce({ state }: ListedKey): boolean {
  return state === 'active' || state === 'expiring'
}

function linesOf({ addresses }: ListedKey): string[] | null {
  return addresses?.split('\n') ?? null
}

function cellsOf(key: ListedKey): string[] {
  const { name, id, rights, limits, created, lastUsed, state, expires, ends, revoked } = key
  const end = [expires, ends].filter((time) => time !== null).sort()[0]
  const stateInWords = [state === 'expiring' ? 'expires' : state, revoked ?? end].filter(Boolean).join(' ')
  const lines = linesOf(key)
  return [
    name,
    id,
    lines === null ? rights : `${counted(lines.length, 'right')}:`,
    limits ?? 'default',
    created,
    lastUsed ?? 'never',
    stateInWords,
  ]
}
