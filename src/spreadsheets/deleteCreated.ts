// Deletes what an import has created, many rows by one request, and never a row that others have changed. No Node.

/** Maximum rows of one request: it counts as one of the limits. */
const PART_ROWS = 100
/** Maximum versions in `If-Match`. */
const VERSIONS_MAX = 20
/** Maximum attempts for rows that others write at the same time. */
const TRIES_MAX = 5
/** A version that no row has: the refusal of a request with it names the version of a row. */
const NO_VERSION = '"none"'

/** Outcome of one request, which deletes all of its rows or none. `version`: of a row that has none of those in `If-Match`. */
export type Deletion =
  | { readonly kind: 'deleted' }
  | { readonly kind: 'otherVersion'; readonly version: string }
  /** One of the rows refuses it, or they are too many at once. */
  | { readonly kind: 'refused' }
  /** The server does not delete several rows. */
  | { readonly kind: 'unsupported' }

/** A server with rows that an import has created. */
export interface CreatedRows {
  /** Deletes rows by one request. */
  deleteTogether(ids: readonly string[], ifMatch: string): Promise<Deletion>
  /** Returns those of the rows that have the values which the import gave them, and reports the others. */
  asCreated(ids: readonly string[]): Promise<readonly string[]>
  /** Deletes a row if it is as it was created. Returns why it stays if others refer to it, else null. */
  deleteOne(id: string): Promise<string | null>
}

/** Ids of rows that one request has created, with the versions that they had: they share one until someone writes them. */
interface Piece {
  readonly ids: readonly string[]
  readonly versions: string[]
}

interface Progress {
  readonly rows: CreatedRows
  /** Messages by the ids of rows that others refer to. */
  readonly referred: Map<string, string>
}

/**
 * Deletes rows that are as they were created, the last first, since they may refer to earlier ones. `created`: ids of rows by the
 * request that created them. Returns why rows stay to which others refer, by their ids. `onDone` gets numbers of other rows.
 */
export async function deleteCreated(
  created: readonly (readonly string[])[],
  rows: CreatedRows,
  onDone: (rows: number) => void,
): Promise<ReadonlyMap<string, string>> {
  let pieces: readonly Piece[] = created.toReversed().map((ids) => ({ ids: ids.toReversed(), versions: [] }))
  for (;;) {
    const referred = new Map<string, string>()
    for (const piece of pieces) await deletePiece({ rows, referred }, piece, onDone)
    const count = pieces.reduce((sum, { ids }) => sum + ids.length, 0)
    // Rows of the import may refer to each other: what is left is tried again while that helps.
    if (referred.size === 0 || referred.size === count) return referred
    pieces = pieces.map(({ ids, versions }) => ({ ids: ids.filter((id) => referred.has(id)), versions }))
  }
}

async function deletePiece(progress: Progress, piece: Piece, onDone: (rows: number) => void): Promise<void> {
  for (let at = 0; at < piece.ids.length; at += PART_ROWS) {
    const part = piece.ids.slice(at, at + PART_ROWS)
    const versions = piece.versions.slice(-VERSIONS_MAX)
    const ids = versions.length === 0 ? part : await progress.rows.asCreated(part)
    await deletePart(progress, piece, ids, versions)
    onDone(part.filter((id) => !progress.referred.has(id)).length)
  }
}

/**
 * Deletes rows whose values were compared when all of `versions` were known: so a row that has one of them is as it was compared.
 * If a row refuses that, each half is tried.
 */
async function deletePart(
  progress: Progress,
  piece: Piece,
  ids: readonly string[],
  versions: readonly string[],
  tries: number = 1,
): Promise<void> {
  if (ids.length <= 1) return deleteEach(progress, ids)
  const ifMatch = versions.length === 0 ? NO_VERSION : versions.join(', ')
  const deletion = await progress.rows.deleteTogether(ids, ifMatch)
  if (deletion.kind === 'deleted') return
  if (deletion.kind === 'otherVersion' && tries < TRIES_MAX) {
    const { version } = deletion
    piece.versions.push(version)
    const same = await progress.rows.asCreated(ids)
    return deletePart(progress, piece, same, [...versions, version].slice(-VERSIONS_MAX), tries + 1)
  }
  if (deletion.kind !== 'refused') return deleteEach(progress, ids)
  const half = Math.ceil(ids.length / 2)
  await deletePart(progress, piece, ids.slice(0, half), versions, tries)
  await deletePart(progress, piece, ids.slice(half), versions, tries)
}

async function deleteEach({ rows, referred }: Progress, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const message = await rows.deleteOne(id)
    if (message !== null) referred.set(id, message)
  }
}
