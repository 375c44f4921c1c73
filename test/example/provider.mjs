// An identity provider for the example: the library oidc-provider, with a page on which one picks a person, without a password.
// So it listens only on loopback. `run.ts` starts it, and it ends with `run.ts`.
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { Provider } from 'oidc-provider'
import { messagePage, signInPage } from './signInPage.mjs'

/** `people`: account, name, job, what she may do, and claims. `server`: the address of Roster. */
const { port, people, clientId, audience, server, tokenS } = JSON.parse(process.env.PROVIDER)

const HOST = '127.0.0.1'
const BODY_BYTES_MAX = 10_000
const HOUR_S = 3_600
const SCOPE = 'openid email'
const issuer = `http://${HOST}:${port}`
/** The same server by both names that a browser may have opened it by. */
const origins = [HOST, 'localhost'].map((name) => `http://${name}:${new URL(server).port}`)
const pageAddresses = origins.map((origin) => `${origin}/explore`)

const personOf = (account) => people.find((person) => person.account === account)
/** What each person was granted by her sign-ins, until she signs out. */
const grants = new Map()

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const provider = new Provider(issuer, {
  clients: [
    {
      client_id: clientId,
      client_name: 'Roster',
      application_type: 'native',
      // A page can keep no secret; it proves by PKCE that it began the sign-in.
      token_endpoint_auth_method: 'none',
      redirect_uris: pageAddresses,
      post_logout_redirect_uris: pageAddresses,
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    },
  ],
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), alg: 'RS256', use: 'sig' }] },
  cookies: { keys: [randomUUID()] },
  clientBasedCORS: (_, origin) => origins.includes(origin),
  pkce: { required: () => true },
  claims: { openid: ['sub', 'name'], email: ['email', 'email_verified'] },
  conformIdTokenClaims: false,
  findAccount: (_, account) => {
    const person = personOf(account)
    return person && { accountId: account, claims: () => ({ sub: account, ...person.claims }) }
  },
  extraTokenClaims: (_, { accountId }) => personOf(accountId)?.claims,
  features: {
    devInteractions: { enabled: false },
    rpInitiatedLogout: { enabled: true, logoutSource: confirmAtOnce },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => audience,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, resource) => ({
        scope: SCOPE,
        audience: resource,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
  interactions: { url: (_, { uid }) => `/interaction/${uid}` },
  issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
  rotateRefreshToken: true,
  // Two people may be signed in at the same time, in two windows of one browser, which share the provider's cookies.
  expiresWithSession: () => false,
  ttl: {
    AccessToken: tokenS,
    IdToken: tokenS,
    AuthorizationCode: 60,
    Interaction: 600,
    Grant: 8 * HOUR_S,
    RefreshToken: 8 * HOUR_S,
    Session: 8 * HOUR_S,
  },
  renderError: (context, { error_description: description }) => {
    context.type = 'html'
    context.body = messagePage({
      title: 'This sign-in cannot go on',
      text: description ?? 'It has ended.',
      back: pageAddresses[0],
    })
  },
})
provider.use(async (context, next) => {
  await next()
  if (context.oidc?.route === 'end_session') await endGrants(context.oidc.entities.IdTokenHint?.payload.sub)
})

const handle = provider.callback()
createServer(serve).listen(port, HOST, () => console.log(`the provider listens on ${issuer}`))
// Ends with the program that holds the other end of the pipe, however that has ended.
process.stdin.on('end', () => process.exit(0)).resume()

async function serve(request, response) {
  try {
    const { pathname } = new URL(request.url, issuer)
    if (pathname.startsWith('/interaction/')) return await interact(request, response)
    // Each sign-in asks who it is: without a session, nobody is signed in, nor signed out by another one's sign-in.
    if (pathname === '/auth' || pathname.startsWith('/auth/')) forgetSession(request)
    handle(request, response)
  } catch (error) {
    const text = 'It has ended, or another one has begun since. Begin again in Roster.'
    const isOver = error.name === 'SessionNotFound'
    if (!isOver) console.error(error)
    send(response, isOver ? 400 : 500, messagePage({ title: 'This sign-in cannot go on', text, back: pageAddresses[0] }))
  }
}

/** Shows the people, or signs in the one who was picked. */
async function interact(request, response) {
  const { params } = await provider.interactionDetails(request, response)
  if (request.method !== 'POST') return send(response, 200, signInPage(people))

  const account = new URLSearchParams(await textOf(request)).get('account')
  if (personOf(account) === undefined)
    return await provider.interactionFinished(request, response, {
      error: 'access_denied',
      error_description: 'You have picked nobody.',
    })
  const grant = new provider.Grant({ accountId: account, clientId: params.client_id })
  grant.addOIDCScope(SCOPE)
  for (const resource of [params.resource ?? audience].flat()) grant.addResourceScope(resource, SCOPE)
  const grantId = await grant.save()
  grants.set(account, [...(grants.get(account) ?? []), grantId])
  await provider.interactionFinished(request, response, { login: { accountId: account }, consent: { grantId } })
}

/** Takes back what the sign-ins of the person have granted, so that no refresh token of hers is accepted any more. */
async function endGrants(account) {
  const ended = grants.get(account) ?? []
  grants.delete(account)
  for (const grantId of ended) {
    await provider.RefreshToken.revokeByGrantId(grantId)
    await (await provider.Grant.find(grantId))?.destroy()
  }
}

/** Whoever has clicked Sign out in Roster is not asked again. */
function confirmAtOnce(context, form) {
  const nonce = randomUUID()
  context.set('content-security-policy', `default-src 'none'; script-src 'nonce-${nonce}'`)
  context.body = `<!doctype html><title>Signing out</title>
${form.replace('</form>', '<input type="hidden" name="logout" value="yes"><noscript><button>Sign out</button></noscript></form>')}
<script nonce="${nonce}">document.forms[0].submit()</script>`
}

function forgetSession(request) {
  const cookies = (request.headers.cookie ?? '').split('; ')
  request.headers.cookie = cookies.filter((cookie) => !/^_session(?:\.|=)/.test(cookie)).join('; ')
}

function send(response, status, html) {
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
  }
  response.writeHead(status, headers).end(html)
}

async function textOf(request) {
  const pieces = []
  let bytes = 0
  for await (const piece of request) {
    bytes += piece.length
    if (bytes > BODY_BYTES_MAX) throw new Error('the form is too long')
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}
