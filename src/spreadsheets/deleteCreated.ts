// Deletes the rows that an import has created, many per request, but never a row that other clients have changed. Runs in
// browsers, too.

/** Maximum rows of one request: up to this number, a request counts as one against the rate limits. */
const PART_ROWS = 100
/** Maximum number of versions in `If-Match`. */
const VERSIONS_MAX = 20
/** Maximum attempts for rows that other clients write at the same time. */
const TRIES_MAX = 5
/** Version that no row has: the server refuses a request with it, and says the version of a row in the refusal. */
const NO_VERSION = '"none"'

/**
 * Outcome of one request, which deletes all of its rows or none. `version`: version of a row that `If-Match` does not contain.
 */
export type Deletion =
  | { readonly kind: 'deleted' }
  | { readonly kind: 'otherVersion'; readonly version: string }
  /** The server refuses the deletion because of one of the rows, or because it takes too long. */
  | { readonly kind: 'refused' }
  /** The server cannot delete several rows by one request. */
  | { readonly kind: 'unsupported' }

/** A server with rows that an import has created. */
export interface CreatedRows {
  /** Deletes rows by one request. */
  deleteTogether(ids: readonly string[], ifMatch: string): Promise<Deletion>
  /** Returns the ids of the rows that still have the values of the import, and reports the rows that do not. */
  asCreated(ids: readonly string[]): Promise<readonly string[]>
  /**
   * Deletes a row if it still has the values of the import. Returns a message if the row stays because other rows refer to it,
   * else null.
   */
  deleteOne(id: string): Promise<string | null>
}

/**
 * Ids of rows that one request has created, with known versions of these rows. The rows have the same version until someone
 * writes them.
 */
interface Piece {
  readonly ids: readonly string[]
  readonly versions: string[]
}

interface Progress {
  readonly rows: CreatedRows
  /** Messages by the id of the row, about rows that stay because other rows refer to them. */
  readonly referred: Map<string, string>
}

/**
 * Deletes the rows that still have the values of the import. Begins with the last rows, because they may refer to earlier rows.
 * `created`: ids of rows by the request that created them. `onDone`: gets the number of rows that were deleted or left for good.
 * Returns messages by the id of the row, about rows that stay because other rows refer to them.
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
    // Rows of the import may refer to each other. So rows that could not be deleted are tried again, as long as each round
    // deletes some rows.
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
 * Deletes rows by one request, which succeeds only if each row has one of `versions`. These versions were known before the rows
 * were compared with the import. So a row that still has one of them was not changed after the comparison, and has the values of
 * the import. If a row has a different version, the rows are compared again. If the server refuses the deletion because of a row,
 * each half of the rows is tried.
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
