import { describeApi } from '../describe/openApi.ts'
import type { Entity } from '../model/entity.ts'
import type { Rule } from '../model/limits.ts'
import { JSON_TYPE, type Reply } from '../respond/reply.ts'
import { StoredBody } from '../respond/storedBody.ts'

/** The limits that the document names. */
export interface Limits {
  readonly ofKeys: readonly Rule[]
  readonly anonymous: readonly Rule[]
}

/**
 * Answers with the OpenAPI document. It is made when it is first asked for, since the address that it names is known
 * only once the server listens; its ETag saves sending it again, and a client that keeps it asks each time.
 */
export function createOpenApi(entities: readonly Entity[], limits: Limits, baseUrl: () => string) {
  let stored: StoredBody | null = null
  return (request: Headers): Reply => {
    stored ??= makeBody(entities, limits, baseUrl())
    return stored.reply(request)
  }
}

function makeBody(entities: readonly Entity[], { ofKeys, anonymous }: Limits, baseUrl: string): StoredBody {
  const document = describeApi(entities, { baseUrl, limits: ofKeys, anonymousLimits: anonymous })
  return new StoredBody(JSON.stringify(document), { 'Content-Type': JSON_TYPE, 'Cache-Control': 'no-cache' })
}
