import { describe, expect, test } from 'bun:test'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import { defineEntity, identity, instant, text } from '../../src/model/entity.ts'
import { parseList } from '../../src/parse/list.ts'

function messageFor(entity: Parameters<typeof parseList>[0], query: string): string {
  try {
    parseList(entity, query)
  } catch (error) {
    const { code, message } = error as { code: string; message: string }
    expect(code).toBe('UnknownParameter')
    return message
  }
  throw new Error(`${query} was accepted`)
}

/** Names of other APIs, with spaces between, by what is said of each. */
const FOREIGN = {
  'The size of a page is PageSize.': 'limit per_page perPage page_size page[size] $top',
  'Pages go by their number, from 1: page=2, with PageSize.': 'offset skip page[number]',
  'Follow the link rel="next" in the header Link or Location: it has the cursor.': 'page_token',
  'The order is sort=Name, descending sort=-Name.': 'order order_by orderBy sort_by sortBy $orderby',
  'Some of the properties are chosen by fields=Id,Name.': 'select fields[companies]',
  'A filter is named after its property, as in Name[contains]=<text>.': 'q search filter[name] filters[name][$eq]',
  'Rows of other entities are not included: read them by their ids, as in Id[]=1&Id[]=2.': 'expand include',
  'There is no "or" of several properties; values of one are Name[]=<value>&Name[]=<value>.': 'or',
  'Groups, counts and sums are at /Companies/Summary, as in groupBy=<property>&sum=<property>.': 'groupBy',
  'The total is always there, in the header X-Total-Count.': '$count',
  'The form is chosen by the header Accept: application/json, text/csv or application/x-ndjson.': 'format',
  'Write Name[contains]=<text>.': 'Name[like] name[_icontains]',
  'Write Name[begins]=<text>.': 'Name[$startsWith]',
  'Write Name[]=<value>.': 'Name[in] Name[0]',
  'Write Name=<value>.': 'Name[eq]',
  'Write Name=>=<value>.': 'Name[gte]',
  'Write Name=.': 'Name[null]',
  'Write Name=!=.': 'Name[_nnull]',
  'In brackets there are Name[], Name[begins], Name[contains].': 'Name[nonsense] Name[ncontains] Name[nstarts_with]',
  'In brackets there are Enabled[].': 'Enabled[like] Enabled[gt]',
}

describe('what other APIs call it is answered with what it is called here', () => {
  test.each(Object.entries(FOREIGN))('%s: %s', (hint, names) => {
    for (const name of names.split(' '))
      expect(messageFor(company, `${encodeURIComponent(name)}=5`)).toBe(`Companies has no parameter "${name}". ${hint}`)
  })

  test('the examples are properties of the entity', () => {
    expect(messageFor(absence, 'order=x')).toEndWith('The order is sort=Status, descending sort=-Status.')
  })

  test('any other name has the nearest one', () => {
    expect(messageFor(company, 'Nmae=x')).toEndWith('Did you mean Name?')
    expect(messageFor(company, 'PageSizes=5')).toEndWith('Did you mean PageSize?')
    expect(messageFor(company, `${'q'.repeat(100)}=5`)).toEndWith('q".')
  })
})

describe('a property of such a name', () => {
  const order = defineEntity('Order', {
    id: identity(),
    limit: text(),
    search: text(),
    orderBy: text(),
    offset: instant(),
  })

  test('is a filter', () => {
    const { filters } = parseList(order, 'limit=5&Search=x&offset=2024-01-31T00:00:00Z')
    expect(filters.map(({ property }) => property.name)).toEqual(['Limit', 'Search', 'Offset'])
  })

  test('is what a spelling of it means', () => {
    expect(messageFor(order, 'order_by=x')).toBe('Orders has no parameter "order_by". Did you mean OrderBy?')
  })
})
