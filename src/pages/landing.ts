import { version } from '../../package.json'
import { firstRequest } from '../describe/guide.ts'
import type { Entity } from '../model/entity.ts'
import type { StoredBody } from '../respond/storedBody.ts'
import { html, layOut } from './layout.ts'

/** Page at the server's address: what it serves, a request to paste, and next steps. */
export function landingPage(entities: readonly Entity[], baseUrl: string, root: string): StoredBody {
  const resources = entities.map(
    ({ plural, members }) =>
      html`<li><a href="${root}docs#tag/${plural.toLowerCase()}">${plural}</a>: <code>${baseUrl}/${plural}</code><br>
<span class="quiet">${members.map((member) => ('key' in member ? member.key : member.path[0])).join(', ')}</span></li>
`,
  )
  const main = html`<h1>Roster ${version}</h1>
<p>This is an HTTP API for people data. Its lists are filtered by any property, sorted and paged, with exact totals; rows are
read, created, replaced, changed and deleted. Requests and answers are JSON.</p>
<h2>Resources</h2>
<ul>
${resources}</ul>
<h2>First request</h2>
<p>A request needs a key. The operator of this server issues keys; for development, <code>npm start</code> keeps one in
<code>.data/development.key</code>.</p>
<pre class="all">${firstRequest(entities, baseUrl)}</pre>
<h2>Read on</h2>
<ul>
<li><a href="${root}docs">Docs</a>: every operation, filter and sort, with requests to try in the browser</li>
<li><a href="${root}errors">Errors</a>: what each code means, and what to do</li>
<li><a href="${root}openapi.json">OpenAPI document</a>: the same for programs, as code generators and HTTP clients import it</li>
</ul>`
  return layOut({ title: 'Roster', root, main })
}
