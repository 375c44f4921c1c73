// An OpenID Connect provider in its own process: the library oidc-provider, with people whom tests add. `issuer.ts` starts it.
// Without a password, it signs in the person that `login_hint` or the form names, so it must listen only on loopback.
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { Provider } from 'oidc-provider'

/**
 * Settings. `port`: 0 for any port. `algorithm`: algorithm of the tokens. `redirectUris`: URIs of the only client, which is
 * public and uses PKCE.
 */
const { port, algorithm, clientId, redirectUris, audience } = JSON.parse(process.env.ISSUER)

/** Claims and lifetime of the tokens of each person, by `sub`. */
const people = new Map()

/** Grants and sessions of the provider, by kind and id. They outlive a change of the key. */
const granted = new Map()

/** Stores grants and sessions, with the methods that the library requires. */
class Grants {
  constructor(kind) {
    this.kind = kind
  }

  async upsert(id, payload) {
    granted.set(`${this.kind} ${id}`, payload)
  }

  async find(id) {
    return granted.get(`${this.kind} ${id}`)
  }

  async findByUid(uid) {
    return [...granted.values()].find((payload) => payload.kind === this.kind && payload.uid === uid)
  }

  async consume(id) {
    granted.get(`${this.kind} ${id}`).consumed = Math.floor(Date.now() / 1_000)
  }

  async destroy(id) {
    granted.delete(`${this.kind} ${id}`)
  }

  async revokeByGrantId(grantId) {
    for (const [name, payload] of granted) if (payload.kind === this.kind && payload.grantId === grantId) granted.delete(name)
  }
}

let provider = null
const server = createServer(serve)
server.listen(port, '127.0.0.1', () => {
  renew()
  console.log(`the issuer listens on ${urlOf()}`)
})

function urlOf() {
  return `http://127.0.0.1:${server.address().port}`
}

/** Replaces the provider by a new one with a new key. The key of earlier tokens is then unknown. */
function renew() {
  provider = new Provider(urlOf(), {
    clients: [
      {
        client_id: clientId,
        application_type: 'native',
        token_endpoint_auth_method: 'none',
        redirect_uris: redirectUris,
        post_logout_redirect_uris: redirectUris,
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        id_token_signed_response_alg: algorithm,
      },
    ],
    adapter: Grants,
    clientBasedCORS: () => true,
    cookies: { keys: [randomUUID()] },
    enabledJWA: { idTokenSigningAlgValues: ['RS256', 'PS256', 'ES256', 'EdDSA'] },
    extraTokenClaims: (_, { accountId }) => people.get(accountId)?.claims,
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: { enabled: true, logoutSource: showLogout },
      resourceIndicators: {
        enabled: true,
        defaultResource: (_, __, oneOf) => oneOf ?? audience,
        useGrantedResource: () => true,
        getResourceServerInfo: (_, resource) => ({
          scope: 'openid',
          audience: resource,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: algorithm } },
        }),
      },
    },
    claims: { openid: ['sub', 'name', 'email', 'email_verified', 'groups'] },
    conformIdTokenClaims: false,
    findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ ...people.get(sub)?.claims, sub }) }),
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    jwks: { keys: [newKey()] },
    issueRefreshToken: (_, __, code) => people.get(code.accountId)?.hasRefreshTokens === true,
    // A refresh token is good for one use: the second one ends the grant.
    rotateRefreshToken: true,
    pkce: { required: () => true },
    ttl: {
      AccessToken: (_, { accountId }) => people.get(accountId)?.expiresInS ?? 3600,
      IdToken: (_, token) => people.get(token.available?.sub)?.expiresInS ?? 3600,
      AuthorizationCode: 60,
      Grant: 3600,
      Interaction: 600,
      RefreshToken: 3600,
      Session: 3600,
    },
  })
}

function newKey() {
  const kinds = { RS256: ['rsa', { modulusLength: 2048 }], ES256: ['ec', { namedCurve: 'P-256' }], EdDSA: ['ed25519'] }
  const [kind, options] = kinds[algorithm] ?? kinds.RS256
  const { privateKey } = generateKeyPairSync(kind, options)
  return { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), alg: algorithm, use: 'sig' }
}

async function serve(request, response) {
  try {
    if (request.url === '/tests/people') addPerson(JSON.parse(await textOf(request)), response)
    else if (request.url === '/tests/rotation') answer(response, renew())
    else if (request.url.startsWith('/interaction/')) await signIn(request, response)
    else provider.callback()(request, response)
  } catch (error) {
    answer(response, { error: String(error.stack) }, 500)
  }
}

function addPerson({ subject, ...person }, response) {
  people.set(subject, person)
  answer(response, {})
}

/** Signs in the person that `login_hint` or the form names, and grants what the client requests. */
async function signIn(request, response) {
  const { params, prompt, session } = await provider.interactionDetails(request, response)
  const form = request.method === 'POST' ? new URLSearchParams(await textOf(request)) : null
  // The library asks for consent at each sign-in, as for all apps on a person's own machine. A person with a session gives it.
  const known = prompt.name === 'consent' ? session?.accountId : undefined
  const accountId = form?.get('person') ?? params.login_hint ?? known
  if (form?.has('cancel')) {
    const refusal = { error: 'access_denied', error_description: 'The person turned back.' }
    return await provider.interactionFinished(request, response, refusal)
  }
  if (accountId === undefined) return showForm(request, response)
  const grant = new provider.Grant({ accountId, clientId: params.client_id })
  grant.addOIDCScope(params.scope)
  for (const resource of [params.resource].flat()) if (resource) grant.addResourceScope(resource, 'openid')
  const grantId = await grant.save()
  await provider.interactionFinished(request, response, { login: { accountId }, consent: { grantId } })
}

function showForm(request, response) {
  const fields = '<label>Person <input name="person" autofocus></label> <button>Sign in</button>'
  const form = `<form method="post" action="${request.url}">${fields} <button name="cancel" value="yes">Cancel</button></form>`
  response.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html><title>Sign in</title>${form}`)
}

function showLogout(context, form) {
  const button = '<button form="op.logoutForm" name="logout" value="yes">Yes, sign me out</button>'
  context.body = `<!doctype html><title>Sign out</title>${form}${button}`
}

function answer(response, body = {}, status = 200) {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

async function textOf(request) {
  let text = ''
  for await (const piece of request) text += piece
  return text
}
