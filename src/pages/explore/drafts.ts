// Keeps what was typed into forms in the session storage of the tab, until it is saved or discarded.
import type { Row } from './resources.ts'
import { sessionStore } from './session.ts'
import { forgetText, keepText, readText } from './storage.ts'
import type { Texts } from './typed.ts'

/**
 * A write with its `Idempotency-Key`. If it is not known whether the write was done, the same attempt is sent again, so that the
 * write is done only once.
 */
export interface Attempt {
  readonly body: string
  /** `Idempotency-Key` of the write. */
  readonly key: string
  /** Time at which the attempt was made, by this machine's clock. */
  readonly madeMs: number
  /** Version of the row to change; empty for a new row. */
  readonly tag: string
}

/** Texts that were typed into one form. */
export interface Draft {
  /** Texts of the fields that were changed. */
  readonly texts: Texts
  /** Names of chosen rows, by the properties that refer to them. */
  readonly labels: Texts
  /** The row as it was when the reader began to change it, and its version; null for a new row. */
  readonly base: { readonly row: Row; readonly tag: string } | null
  /** Index of the chosen variant of the form. Each variant follows one right. */
  readonly variant: number
  /** The last write, if it is not known whether it was done; else null. */
  readonly attempt: Attempt | null
}

const DRAFTS_MAX = 50
/** Maximum characters of a stored draft. A browser has room for some millions of characters. */
const CHARACTERS_MAX = 60_000
const LIST = 'roster.drafts'
const nameOf = (id: string) => `roster.draft.${id}`

/** Returns the id of a form's draft, made of session, collection and row. `row`: id of the row; empty for a new row. */
export function draftIdOf(plural: string, row: string): string {
  return `${readerId()} ${plural}/${row}`
}

/** Returns the id of the session. It is part of a draft's id, so that the next person in the same tab does not get the draft. */
function readerId(): string {
  return sessionStore.value.session?.id ?? ''
}

/** Returns the draft of this id; null if there is none, or if the stored text is no draft. */
export function readDraft(id: string): Draft | null {
  try {
    const draft = JSON.parse(readText('sessionStorage', nameOf(id)) ?? 'null')
    return typeof draft?.texts === 'object' && typeof draft.labels === 'object' ? draft : null
  } catch {
    return null
  }
}

/**
 * Stores a draft. If there are more than `DRAFTS_MAX`, forgets the oldest. Returns false if the draft is too long to be stored.
 */
export function keepDraft(id: string, draft: Draft): boolean {
  const text = JSON.stringify(draft)
  if (text.length > CHARACTERS_MAX) return false
  const ids = [...idsOfDrafts().filter((one) => one !== id), id]
  for (const old of ids.slice(0, -DRAFTS_MAX)) forgetText('sessionStorage', nameOf(old))
  keepText('sessionStorage', nameOf(id), text)
  keepText('sessionStorage', LIST, JSON.stringify(ids.slice(-DRAFTS_MAX)))
  return true
}

export function forgetDraft(id: string): void {
  forgetText('sessionStorage', nameOf(id))
  keepText('sessionStorage', LIST, JSON.stringify(idsOfDrafts().filter((one) => one !== id)))
}

/** Returns the ids of the drafts, the oldest first. */
function idsOfDrafts(): readonly string[] {
  try {
    const ids = JSON.parse(readText('sessionStorage', LIST) ?? '[]')
    return Array.isArray(ids) ? ids.filter((one) => typeof one === 'string') : []
  } catch {
    return []
  }
}
