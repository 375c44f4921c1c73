// Findings about the issuer of tokens: whether its documents can be read, and have keys and addresses for sign-in.
import { counted } from '../cli/output.ts'
import type { Config } from '../config/config.ts'
import { errorOf } from '../errors.ts'
import type { SignInEndpoints } from '../model/signIn.ts'
import { readPublished } from '../tokens/discovery.ts'
import { type Finding, fault, ok } from './finding.ts'

/** Reads the documents of the issuer as a worker does. Returns nothing if the server accepts no tokens of persons. */
export async function examineIssuer({ oidcIssuer: issuer, oidcClientId: clientId }: Config): Promise<Finding[]> {
  if (issuer === null) return []
  try {
    const { keys, algorithms, endpoints } = await readPublished(issuer)
    const published = ok(
      'issuer',
      `${issuer} publishes ${counted(keys.keys.length, 'key')}, and signs by ${algorithms.join(', ')}`,
    )
    return clientId === null ? [published] : [published, signInOf(endpoints)]
  } catch (error) {
    const remedy = 'persons cannot sign in until a server has read its keys; mend OIDC_ISSUER, or the way there'
    return [fault('issuer', `${issuer}: ${errorOf(error).message}: ${remedy}`)]
  }
}

/**
 * Returns the finding about sign-ins at /explore. `endpoints`: the issuer's addresses for a sign-in, or the reason why people
 * cannot sign in.
 */
function signInOf(endpoints: SignInEndpoints | string): Finding {
  if (typeof endpoints === 'string')
    return fault('sign-in', `nobody can sign in at /explore: ${endpoints}; mend it at the issuer`)
  return ok('sign-in', `people sign in at ${new URL(endpoints.authorization).host}`)
}
