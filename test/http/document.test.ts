// The documents of keys and persons: which of them are made, and for whom. D88
import { expect, test } from 'bun:test'
import { Documents } from '../../src/http/document.ts'
import type { GrantedRights } from '../../src/model/access.ts'
import type { ResourceRequest } from '../../src/operations/resourceRequest.ts'
import { RightsReader } from '../../src/rights/reader.ts'
import { parseRoles } from '../../src/roles/roles.ts'
import { entities } from '../support/entities.ts'
import { RoleRows } from '../support/roleRows.ts'
import { ROLES_FILE } from '../support/rolesFile.ts'

const roles = parseRoles(ROLES_FILE, entities)

/** Makes documents, and counts how many were made. */
function countingDocuments() {
  let made = 0
  const documents = new Documents(entities, roles.views, () => {
    made++
    const limits = [{ limit: 1, periodMs: 60_000, period: '1m' }]
    return { baseUrl: 'http://x', limits, anonymousLimits: limits, personLimits: limits, documentNeedsKey: false }
  })
  const bodyFor = (rights: GrantedRights) =>
    documents.reply({ request: new Request('http://x/openapi.json'), rights } as ResourceRequest).body
  return { bodyFor, made: () => made }
}

const keyRights = (...lines: string[]) => new RightsReader(entities).read({ rights: '', addresses: lines.join('\n') })

test('A hundred persons with the same roles share one OpenAPI document, although their rights have different values', async () => {
  const people = Array.from({ length: 100 }, (_, index) => ({ Id: String(index + 1), WorkEmail: `p${index}@example.com` }))
  const rows = new RoleRows({ Employees: people })
  const { bodyFor, made } = countingDocuments()
  const texts = new Set<string>()
  const bodies = new Set<unknown>()
  for (const { WorkEmail: email } of people) {
    const rights = await roles.rightsOf({ email }, rows, true)
    texts.add(rights.text)
    bodies.add(bodyFor(rights))
  }
  expect([texts.size, bodies.size, made()]).toEqual([100, 1, 1])
  const hr = await roles.rightsOf({ email: 'p1@example.com', groups: ['hr'] }, rows, true)
  expect(bodies.has(bodyFor(hr))).toBe(false)
})

test.each([
  ['another property', 'read Companies?Id=1&fields=Id,Name', 'read Companies?Id=1&fields=Id,Enabled'],
  ['another collection', 'read Companies?Id=1', 'read Employees?Id=1'],
  ['another verb', 'update Companies?Id=1&fields=Name', 'create Companies?Id=1&fields=Name'],
  ['no filter, and so the change feed', 'read Companies?Id=1', 'read Companies'],
  ['a value that it sets in place of a value that it checks', 'create Companies?Enabled=true', 'create Companies?Enabled=!=true'],
])('A key whose right has %s gets another OpenAPI document', (_what, one, other) => {
  const { bodyFor, made } = countingDocuments()
  bodyFor(keyRights(one))
  bodyFor(keyRights(other))
  expect(made()).toBe(2)
})

test('A key whose rights no longer fit the entities gets another OpenAPI document than a person without rights', () => {
  const { bodyFor, made } = countingDocuments()
  bodyFor(keyRights('read Gone'))
  bodyFor(parseRoles('', entities).rightsOf({}, new RoleRows({}), true) as GrantedRights)
  expect(made()).toBe(2)
})
