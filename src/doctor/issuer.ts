// Findings about the issuer of tokens: whether its documents can be read, and have keys.
import { counted } from '../cli/output.ts'
import type { Config } from '../config/config.ts'
import { errorOf } from '../errors.ts'
import { readPublished } from '../tokens/discovery.ts'
import { type Finding, fault, ok } from './finding.ts'

/** Asks the issuer as a worker does. Returns nothing if the server takes no tokens of persons. */
export async function examineIssuer({ oidcIssuer: issuer }: Config): Promise<Finding[]> {
  if (issuer === null) return []
  try {
    const { keys, algorithms } = await readPublished(issuer)
    return [ok('issuer', `${issuer} publishes ${counted(keys.keys.length, 'key')}, and signs by ${algorithms.join(', ')}`)]
  } catch (error) {
    const remedy = 'persons cannot sign in until a server has read its keys; mend OIDC_ISSUER, or the way there'
    return [fault('issuer', `${issuer}: ${errorOf(error).message}: ${remedy}`)]
  }
}
