// What the rights of a person mean for the start page, from roles files to the parts of the page.
import { describe, expect, test } from 'bun:test'
import { describeApi } from '../../src/describe/openApi.ts'
import { type Resource, type Right, resourcesOf } from '../../src/pages/explore/resources.ts'
import { type Decision, type Meaning, mayUndo, meaningOf, type Part } from '../../src/pages/explore/rights.ts'
import { respondRights } from '../../src/respond/rights.ts'
import { parseRoles } from '../../src/roles/roles.ts'
import { entities } from '../support/entities.ts'
import { RoleRows } from '../support/roleRows.ts'
import { ROLES_FILE } from '../support/rolesFile.ts'

const ANN = { Id: '7', WorkEmail: 'ann@example.com', CompanyId: '5', ManagerId: '9', Department: 'IT' }
const MAX = { Id: '9', WorkEmail: 'max@example.com' }
const ROWS = new RoleRows({ Employees: [ANN, MAX] })
const FACTS = { baseUrl: 'http://localhost', limits: [], anonymousLimits: [], documentNeedsKey: false }

interface Known {
  readonly resources: readonly Resource[]
  readonly rights: readonly Right[]
}

/** What the page knows of a person: as the server answers her. */
async function knownTo(name: string, roles: string, groups: readonly string[] = []): Promise<Known> {
  const parsed = parseRoles(roles, entities)
  const granted = await parsed.rightsOf({ email: `${name}@example.com`, groups }, ROWS, true)
  const views = parsed.views.map((view) => granted.accessTo(view)).filter(({ read }) => read !== null)
  const accesses = [...entities.map((entity) => granted.accessTo(entity)), ...views]
  const rights = JSON.parse(respondRights(granted).body as string)
  return { resources: resourcesOf(describeApi(accesses, FACTS), rights), rights }
}

const lines = (...rights: string[]) =>
  ['me Employees?WorkEmail={email}', 'role a', ...rights.map((right) => `  ${right}`)].join('\n')

/** A part in the form of the address of its list. */
function addressOf({ words, resource: { plural }, filters, id }: Part): string {
  const query = filters.map(({ name, sign, values }) => `${name} ${sign} ${values}`)
  return `${words}: ${plural}${query.length > 0 ? `?${query.join('&')}` : ''}${id === null ? '' : ` (${id})`}`
}

const DRAWN = ({ toDecide, mine, team, collections, views, creations }: Meaning) => ({
  toDecide: toDecide.map(addressOf),
  mine: mine.map(addressOf),
  team: team.map(addressOf),
  others: [...collections, ...views].map(({ plural }) => plural),
  creations: creations.map(({ collection, isMine }) => `${collection}${isMine ? ', mine' : ''}`),
})
const NOTHING = { toDecide: [], mine: [], team: [], others: [], creations: [] }

async function meaningFor(name: string, roles: string, groups: readonly string[] = []) {
  const { resources, rights } = await knownTo(name, roles, groups)
  return DRAWN(meaningOf(resources, rights))
}

describe('the roles of docs/roles.txt lead to this start page:', () => {
  test('an employee sees her record, her absences, and the directory', async () =>
    expect(await meaningFor('ann', ROLES_FILE.replace('Employees?ManagerId={me.Id}', 'Employees?Id=0'))).toEqual({
      ...NOTHING,
      mine: ['My absences: Absences?EmployeeId = 7', 'My record: Employees?Id = 7 (7)'],
      others: ['Directory'],
      creations: ['Absences, mine'],
    }))

  test('a manager sees requests of others first, and all absences except her own as absences of her team', async () =>
    expect(await meaningFor('max', ROLES_FILE.replace('when Employees?ManagerId={me.Id}', ''))).toEqual({
      toDecide: ['Absences: Absences?may = update(Status)&Status = Requested&EmployeeId != 9'],
      mine: ['My absences: Absences?EmployeeId = 9', 'My record: Employees?Id = 9 (9)'],
      team: ['Absences of my team: Absences?EmployeeId != 9'],
      others: ['Directory'],
      creations: ['Absences, mine'],
    }))

  test('a person in HR sees each collection that she may read as a whole, in addition to her own rows', async () =>
    expect(await meaningFor('ann', ROLES_FILE.replace('Employees?ManagerId={me.Id}', 'Employees?Id=0'), ['hr'])).toEqual({
      toDecide: ['Absences: Absences?may = update(Status)&Status = Requested&EmployeeId != 7'],
      mine: ['My absences: Absences?EmployeeId = 7', 'My record: Employees?Id = 7 (7)'],
      team: [],
      others: ['Absences', 'Companies', 'Employees', 'Directory'],
      creations: ['Absences, mine', 'Employees'],
    }))

  test('a manager in HR sees each list once, and the absences of her team by a filter on a related property', async () =>
    expect(await meaningFor('max', ROLES_FILE.replace('when Employees?ManagerId={me.Id}', ''), ['hr'])).toEqual({
      toDecide: ['Absences: Absences?may = update(Status)&Status = Requested&EmployeeId != 9'],
      mine: ['My absences: Absences?EmployeeId = 9', 'My record: Employees?Id = 9 (9)'],
      team: ['Absences of my team: Absences?EmployeeId.ManagerId = 9'],
      others: ['Absences', 'Companies', 'Employees', 'Directory'],
      creations: ['Absences, mine', 'Employees'],
    }))

  test('a person without an employee row sees nothing', async () =>
    expect(await meaningFor('nobody', ROLES_FILE)).toEqual(NOTHING))
})

describe('a right leads to the expected sections of the start page:', () => {
  test.each<[string, string[], Partial<ReturnType<typeof DRAWN>>]>([
    ['rows of other people', ['read Companies'], { others: ['Companies'] }],
    ['rows that refer to her', ['read Absences?EmployeeId={me.Id}'], { mine: ['My absences: Absences?EmployeeId = 7'] }],
    [
      'some of the rows that refer to her',
      ['read Absences?EmployeeId={me.Id}&Status=Approved'],
      { mine: ['My absences: Absences?EmployeeId = 7&Status = Approved'] },
    ],
    [
      'two rights to rows that refer to her',
      ['read Absences?EmployeeId={me.Id}&Status=Approved', 'read Absences?EmployeeId={me.Id}&Status=Requested'],
      { mine: ['My absences: Absences?EmployeeId = 7'] },
    ],
    [
      'rows that refer to her by a property that she does not see',
      ['read Absences?EmployeeId={me.Id}&fields=Start,End'],
      { mine: ['My absences: Absences'] },
    ],
    [
      'rows that refer to her by a property that she does not see, beside others',
      ['read Absences?EmployeeId={me.Id}&fields=Start,End', 'read Absences?Status=Approved&fields=Start,End'],
      { others: ['Absences'] },
    ],
    ['the row of her company', ['read Companies?Id={me.CompanyId}'], { mine: ['My company: Companies?Id = 5 (5)'] }],
    ['the row of her manager', ['read Employees?Id={me.ManagerId}'], { mine: ['My manager: Employees?Id = 9 (9)'] }],
    ['her reports', ['read Employees?ManagerId={me.Id}'], { team: ['My team: Employees?ManagerId = 7'] }],
    ['all below her', ['read Employees?ManagerId[under]={me.Id}'], { team: ['My team: Employees?ManagerId [under] 7'] }],
    [
      'the absences of all below her',
      ['read Absences?EmployeeId.ManagerId[under]={me.Id}'],
      { team: ['Absences of my team: Absences'] },
    ],
    [
      'rows that refer to her by a list of values, and those of her team, of which no filter can tell which is which',
      ['read Absences?EmployeeId[]={me.Id}', 'read Absences?EmployeeId.ManagerId={me.Id}'],
      { mine: ['My absences: Absences?EmployeeId [] 7'], others: ['Absences'] },
    ],
    [
      'colleagues of her department',
      ['read Employees?Department={me.Department}'],
      { team: ['Employees of my department: Employees?Department = IT'] },
    ],
    [
      'absences of her company, whose path she may follow',
      ['read Absences?EmployeeId.CompanyId={me.CompanyId}', 'read Employees'],
      { team: ['Absences of my company: Absences?EmployeeId.CompanyId = 5'], others: ['Employees'] },
    ],
    [
      'absences of her company and of her team, of which no filter can tell which is which',
      ['read Absences?EmployeeId.CompanyId={me.CompanyId}', 'read Absences?EmployeeId.ManagerId={me.Id}'],
      { others: ['Absences'] },
    ],
    ['all but her own rows', ['read Absences?EmployeeId=!={me.Id}'], { others: ['Absences'] }],
    ['rows to create for herself', ['create Absences?EmployeeId={me.Id}'], { creations: ['Absences, mine'] }],
    ['rows to create', ['create Absences'], { creations: ['Absences'] }],
    [
      'a right to cancel her own rows: nothing to decide',
      ['read Absences', 'update Absences?EmployeeId={me.Id}&fields=Status becomes Status=Cancelled'],
      { others: ['Absences'] },
    ],
    [
      'a right to change rows without a decision: nothing to decide',
      ['read Absences', 'update Absences?fields=Status,Reason'],
      { others: ['Absences'] },
    ],
    [
      'two steps of a decision: what waits for either',
      [
        'read Absences',
        'update Absences?Status=Requested&fields=Status becomes Status=Checked',
        'update Absences?Status=Checked&fields=Status becomes Status=Approved',
      ],
      { toDecide: ['Absences: Absences?may = update(Status)&Status [] Requested,Checked'], others: ['Absences'] },
    ],
    [
      'a decision about rows of any state, her own among them',
      ['read Absences', 'update Absences?Type=Sickness&fields=Status becomes Status=Approved'],
      { toDecide: ['Absences: Absences?may = update(Status)'], others: ['Absences'] },
    ],
    ['a decision about rows that she does not read', ['update Absences?fields=Status becomes Status=Approved'], {}],
  ])('%s', async (_, rights, meaning) => expect(await meaningFor('ann', lines(...rights))).toEqual({ ...NOTHING, ...meaning }))

  test('one’s own row in a view and in its entity gives one section; the view can also give the section My team', async () => {
    const roles = `view Staff Employees?fields=Id,DisplayName,ManagerId\n${lines('read Staff?ManagerId={me.Id}', 'read Staff?Id={me.Id}', 'read Employees?Id={me.Id}')}`
    expect(await meaningFor('ann', roles)).toEqual({
      ...NOTHING,
      mine: ['My record: Employees?Id = 7 (7)'],
      team: ['My team: Staff?ManagerId = 7'],
      others: ['Staff'],
    })
  })
})

test('rights of a key lead only to collections on the start page', async () => {
  const { resources, rights } = await knownTo('ann', ROLES_FILE, ['hr'])
  const ofKey = rights.map((right) => ({ ...right, template: null }))
  const { mine, team, collections } = meaningOf(resources, ofKey)
  expect([mine, team, collections.map(({ plural }) => plural)]).toEqual([[], [], ['Absences', 'Companies', 'Employees']])
})

const APPROVED: Decision = { collection: 'Absences', name: 'Status', from: 'Requested', to: 'Approved' }

test.each<[boolean, string]>([
  [false, 'update Absences?Status=Requested&fields=Status becomes Status[]=Approved&Status[]=Declined'],
  [true, 'update Absences?Status=Approved&fields=Status becomes Status=Requested'],
  [true, 'update Absences?Status[]=Approved&Status[]=Declined&fields=Status becomes Status[]=Requested&Status[]=Declined'],
  [true, 'update Absences?Status=!=Requested&fields=Status becomes Status=Requested'],
  [true, 'update Absences'],
  [true, 'update Absences?EmployeeId=!={me.Id}'],
  [false, 'update Absences?fields=Reason'],
  [false, 'update Absences?Status=Approved'],
  [false, 'update Absences?Status[begins]=App&fields=Status becomes Status=Requested'],
  [false, 'update Employees?fields=Status'],
])('Undo of a decision is offered: %p, with the right %s', async (isPossible, right) => {
  const { rights } = await knownTo('ann', lines('read Absences', 'read Employees', right))
  expect(mayUndo(rights, APPROVED)).toBe(isPossible)
})
