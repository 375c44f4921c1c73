import { describe, expect, test } from 'bun:test'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import employee from '../../src/entities/employee.ts'
import { ApiError } from '../../src/errors.ts'
import {
  boolean,
  date,
  decimal,
  defineEntity,
  group,
  identity,
  instant,
  integer,
  linkReferences,
  text,
} from '../../src/model/entity.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseList } from '../../src/parse/list.ts'
import { readPage } from '../support/documents.ts'
import { Random } from '../support/random.ts'
import { refusalOf } from '../support/refusal.ts'

const room = defineEntity('Room', {
  id: identity(),
  floor: integer(),
  title: text(),
  opened: date(),
  size: group({ area: decimal(2), opensAt: instant() }),
})
/** Without texts, dates and numbers. */
const flag = defineEntity('Flag', { id: identity(), isOn: boolean() })
const ENTITIES = { absences: absence, companies: company, employees: employee, rooms: room, flags: flag }
linkReferences([absence, company, employee])

function messageFor(entity: Parameters<typeof parseList>[0], query: string): string {
  const { outcome, message } = refusalOf(() => parseList(entity, query))
  expect(outcome).toStartWith('UnknownParameter ')
  return message
}

/** Names of other APIs, with spaces between, by what is said of each. */
const FOREIGN = {
  'The size of a page is PageSize.': 'limit per_page perPage page_size page[size] $top pagination[pageSize]',
  'Pages go by their number, from 1: page=2, with PageSize.': 'offset skip page[number] pagination[page]',
  'Follow the link rel="next" in the header Link or Location: it has the cursor.': 'page_token page[after] $skiptoken',
  'The order is sort=Name, descending sort=-Name.': 'order order_by orderBy sort_by sortBy $orderby sort[0]',
  'Some of the properties are chosen by fields=Id,Name.': 'select fields[companies]',
  'A search names a property: Name[contains]=5.': 'q search $search',
  'A filter is named after its property, as in Name=<value>.': 'filter $filter where filter[nonsense]',
  'Rows of other entities are not included: read them by their ids, as in Id[]=1&Id[]=2.': 'expand include',
  'There is no "or" of several properties; values of one are Name[]=<value>&Name[]=<value>.': 'or $or',
  'Groups, counts and sums are at /Companies/Summary, as in groupBy=<property>&sum=<property>.':
    'groupBy sum avg maximum aggregate[sum]',
  'The total is always there, in the header X-Total-Count.': '$count',
  'The form is chosen by the header Accept: application/json, text/csv or application/x-ndjson.': 'format',
  'Write Name[contains]=5.': 'Name[like] name[_icontains] name__icontains filter[name][_contains] search[name]',
  'Write Name[begins]=5.': 'Name[$startsWith] name__istartswith',
  'Write Name[]=5.': 'Name[in] Name[0] filter[name][_in][0]',
  'Write Name=5.':
    'Name[eq] filter[name] filters[name][$eq] filter[name][_eq] where.name.eq filter.name filters[$and][0][name][$eq] name_eq',
  'Write Name=>=5.': 'Name[gte] name__gte filter[name][gte] where.name.gte',
  'Write Name=.': 'Name[null]',
  'Write Name=!=.': 'Name[_nnull] name__notnull',
  'In brackets there are Name[], Name[begins], Name[contains].': 'Name[nonsense] Name[ncontains] Name[nstarts_with]',
  'In brackets there are Enabled[].': 'Enabled[like] Enabled[gt]',
}

test.each(['include', '$expand', 'populate'])(
  'D91: the parameter %s gets a hint to name properties of other rows by paths in fields',
  (name) => {
    const hint =
      'Rows of other entities are not included: fields names their properties, as in fields=Id,EmployeeId.EmployeeNumber.'
    expect(messageFor(wholeView(absence), `${name}=x`)).toEndWith(hint)
  },
)

describe('notations of other APIs get a hint', () => {
  test.each(Object.entries(FOREIGN))('the hint is "%s" for the parameters %s', (hint, names) => {
    for (const name of names.split(' '))
      expect(messageFor(wholeView(company), `${encodeURIComponent(name)}=5`)).toBe(
        `Companies has no parameter "${name}". ${hint}`,
      )
  })

  test.each([
    ['filter[status][_eq]=A', 'Write Status=A.'],
    ['filters[period][days][$gt]=2', 'Write Period.Days=>2.'],
    ['where.period.days.lte=2', 'Write Period.Days=<=2.'],
    ['filter[status][_in]=A,B', 'Write Status[]=A&Status[]=B.'],
    ["Status[in]=('A','B')", 'Write Status[]=A&Status[]=B.'],
    ['filter[reason][_null]=true', 'Write Reason=.'],
    ['reason__isnull=False', 'Write Reason=!=.'],
    ['filter[reason][_nnull]=true', 'Write Reason=!=.'],
    ['reason[ilike]=%25day%25', 'Write Reason[contains]=day.'],
    ['reason[like]=Ann*', 'Write Reason[begins]=Ann.'],
    ['filter[reason]=a%20%26%20b%2B%25%23', 'Write Reason=a%20%26%20b%2B%25%23.'],
    ['filter[reason]=%3E1', 'Write Reason==>1.'],
    ['filter[reason]=', 'Write Reason=<value>.'],
    [`filter[reason]=${'x'.repeat(101)}`, 'Write Reason=<value>.'],
    ['$filter=Status%20eq%20%27A%27', 'Write Status=A.'],
    ['$filter=contains(Reason,%27x%27)', 'Write Reason[contains]=x.'],
    ['filter=period/days%20ge%202', 'Write Period.Days=>=2.'],
    ['filter=status:A', 'Write Status=A.'],
    ['where=status!=A', 'Write Status=!=A.'],
    ['$orderby=start%20desc,Type', 'Write sort=-Start,Type.'],
    ['order=start.desc', 'Write sort=-Start.'],
    ['ordering=-period.days', 'Write sort=-Period.Days.'],
    ['sort[0]=start:asc', 'Write sort=Start.'],
    ['sort[start]=desc', 'Write sort=-Start.'],
    ['orderby.start=desc', 'Write sort=-Start.'],
    ['select=id,status', 'Write fields=Id,Status.'],
    ['fields[absences]=status,period', 'Write fields=Status,Period.'],
    ['q=ada', 'A search names a property: Employee[contains]=ada.'],
    ['Days=%3E2', 'Did you mean Period.Days?'],
    ['Date=2026-01-01', 'Did you mean Start?'],
    ['from=2026-01-01', 'Did you mean Start?'],
    ['EndDate=2026-01-01', 'Did you mean End?'],
    ['EmployeeName=Ada', 'Did you mean Employee?'],
    ['employee_name=Ada', 'Did you mean Employee?'],
    ['EmployeeNam=Ada', 'Did you mean Employee?'],
    ['EmployeeIds=1', 'Did you mean EmployeeId?'],
    ['AbsenceType=x', 'Did you mean Type?'],
    ['name=Ada', 'Did you mean Employee?'],
  ])('a query of absences by %s is answered: %s', (query, hint) => {
    const name = decodeURIComponent(query.slice(0, query.indexOf('=')))
    expect(messageFor(wholeView(absence), query)).toBe(`Absences has no parameter "${name}". ${hint}`)
    // What a hint writes is a query that is understood.
    const [, written] = /^Write (.*)\.$/.exec(hint) ?? []
    if (written && !written.includes('<value>')) parseList(wholeView(absence), written)
  })

  test.each<[keyof typeof ENTITIES, string, string]>([
    ['employees', 'q=ada', 'A search names a property: DisplayName[contains]=ada.'],
    ['employees', 'search=', 'A search names a property: DisplayName[contains]=<text>.'],
    ['employees', 'name=ada', 'Did you mean DisplayName?'],
    ['employees', 'StartDate=x', 'Did you mean Started?'],
    ['employees', 'Email=x', 'Did you mean WorkEmail?'],
    ['employees', 'Employment=x', 'Did you mean EmploymentEnd?'],
    ['employees', 'ManagerName=x', 'Did you mean Manager?'],
    ['employees', 'Colour=x', 'Employees has no parameter "Colour".'],
    ['companies', 'name_starts_with=A', 'Write Name[begins]=A.'],
    ['companies', 'name__not_null=1', 'Write Name=!=.'],
    ['companies', 'filter=name%20ne%20null', 'Write Name=!=.'],
    ['companies', 'Nmae=x', 'Did you mean Name?'],
    ['companies', 'PageSizes=5', 'Did you mean PageSize?'],
    ['companies', `${'q'.repeat(100)}=5`, 'q".'],
    ['absences', 'order=x', 'The order is sort=Status, descending sort=-Status.'],
    ['rooms', 'q=x', 'Title[contains]=x.'],
    ['rooms', 'Area=1', 'Did you mean Size.Area?'],
    ['rooms', 'Date=2026-01-01', 'Did you mean Opened?'],
    ['rooms', 'opens_on=2026-01-01', 'Did you mean Opened?'],
    ['rooms', 'RoomTitle=x', 'Did you mean Title?'],
    ['rooms', 'filter[size.area][_gte]=2', 'Write Size.Area=>=2.'],
    ['flags', 'q=x', 'A filter is named after its property, as in IsOn=<value>.'],
    ['flags', 'Date=x', 'Flags has no parameter "Date".'],
  ])('a query of %s by %s is answered with: %s', (plural, query, hint) => {
    expect(messageFor(wholeView(ENTITIES[plural]), query)).toEndWith(hint)
  })

  const table = readPage('docs/api.md').split('| PostgREST | Directus |')[1]?.split('\n\n')[0] ?? ''
  const cells = table
    .split('\n| `')
    .slice(1)
    .flatMap((row) => {
      const [, directus, odata, strapi, here] = [...`| \`${row}`.matchAll(/ `([^`]*)`[^|]*\|/g)].map(([, text]) => text as string)
      const filters = [directus, odata?.includes('$') ? odata : `$filter=${odata}`, strapi].filter((text) =>
        /^\$?filters?[[=]/.test(text ?? ''),
      )
      return filters.map((text) => [text as string, here as string] as const)
    })

  test('the table of notations in docs/api.md has more than 18 filters', () => expect(cells.length).toBeGreaterThan(18))

  test.each(cells)('the notation %s of docs/api.md gets the hint to write %s', (text, here) => {
    const [name, ...value] = text.split('=')
    const query = `${encodeURIComponent(name as string)}=${encodeURIComponent(value.join('='))}`
    // The last value of a list, each of which is a parameter of its own elsewhere.
    const expected = here.includes('&') && !value.join('').includes(',') ? here.split('&')[0] : here
    const entity = /name/i.test(text) ? company : absence
    expect(messageFor(wholeView(entity), query).toLowerCase()).toEndWith(`write ${expected?.toLowerCase()}.`)
  })

  test('hints suggest neither an operator that the property does not have, nor an unknown property', () => {
    for (const query of ['filter[enabled][_gt]=true', 'filter[nonsense][_eq]=1', `filter[${'x'.repeat(3_000)}]=1`])
      expect(messageFor(wholeView(company), query)).not.toContain('Write')
  })

  test('messages with hints have a limited length, whatever names and values are sent', () => {
    const random = new Random(3)
    const pieces = [
      ...['filter', 'filters', 'where', 'order', 'select', 'status', 'Period', 'days', 'start', '[', ']', '.', '__', '$', '_'],
      ...['in', 'eq', 'like', 'null', ',', ':desc', '(', ')', 'and', 'or', '0', 'Date', 'from', "'", '%', '&', ' ', '\u0000'],
      ...['=', '>', 'ä', '🦊'],
    ]
    const text = (most: number) => Array.from({ length: random.below(most) }, () => pieces[random.below(pieces.length)]).join('')
    for (let round = 0; round < 20_000; round++) {
      const [name, value] = [text(8), text(round % 100 === 0 ? 1_000 : 6)]
      try {
        parseList(wholeView(absence), `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
      } catch (error) {
        expect(error).toBeInstanceOf(ApiError)
        expect((error as ApiError).message.length).toBeLessThan(900)
      }
    }
  })

  test('a hint for a parameter with too many names has no rewritten query', () => {
    for (const name of ['order', 'select'])
      expect(messageFor(wholeView(absence), `${name}=${'Id,'.repeat(10)}Id`)).not.toContain('Write')
    expect(messageFor(wholeView(absence), `order=${'Id,'.repeat(9)}Id`)).toContain('Write sort=Id,')
  })
})

describe('a value in the notation of another API is refused with the filter that was probably meant', () => {
  test.each([
    ['EmployeeId=eq.5', 'Write EmployeeId=5.'],
    ['EmployeeId=in.(1,2)', 'Write EmployeeId[]=1&EmployeeId[]=2.'],
    ['EmployeeId=1,2,3', 'Write EmployeeId[]=1&EmployeeId[]=2&EmployeeId[]=3.'],
    ['EmployeeId=is.null', 'Write EmployeeId=.'],
    ['Period.Days=gt:2.5', 'Write Period.Days=>2.5.'],
    ['Start=gte.2026-01-01T00:00:00Z', 'Write Start=>=2026-01-01T00:00:00Z.'],
    ['EmployeeId=eq.x', ''],
    ['EmployeeId=1,x', ''],
    ['EmployeeId=like.5', ''],
    ['EmployeeId=%00', ''],
  ])('%s gets the suggestion "%s"', (query, hint) => {
    const { outcome, message } = refusalOf(() => parseList(wholeView(absence), query))
    expect([outcome, /Write .*$/.exec(message)?.[0] ?? '']).toEqual([`InvalidFilter ${query.split('=')[0]}`, hint])
  })
})

describe('a property whose name other APIs use for a parameter', () => {
  const order = defineEntity('Order', {
    id: identity(),
    limit: text(),
    search: text(),
    orderBy: text(),
    offset: instant(),
  })

  test('can be used in a filter', () => {
    const { filters } = parseList(wholeView(order), 'limit=5&Search=x&offset=2024-01-31T00:00:00Z')
    expect(filters.map(({ property }) => property.name)).toEqual(['Limit', 'Search', 'Offset'])
  })

  test('is suggested if its name is misspelled', () => {
    expect(messageFor(wholeView(order), 'order_by=x')).toBe('Orders has no parameter "order_by". Did you mean OrderBy?')
  })
})
