/** Earlier names of settings are refused: without their names the server would run with defaults instead. */
export const RENAMED = { VIEWS: 'LIST_CACHE', VIEWS_MB: 'LIST_CACHE_MB' }

const NO_STANDBYS = 'lists come from memory or from DATABASE_URL; delete the line'

/**
 * Settings that have ended, each with what to do now. They stop the start by name: ignored, they would leave an operator with
 * less than was asked for. A secret's variable for a file (`..._FILE`) has an entry of its own.
 */
export const ENDED: Readonly<Record<string, string>> = {
  DATABASE_READ_URLS: NO_STANDBYS,
  DATABASE_READ_URLS_FILE: NO_STANDBYS,
}
