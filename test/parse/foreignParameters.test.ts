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

describe('what other APIs call it is answered with what it is called here', () => {
  test.each([
    ['limit', 'The size of a page is PageSize.'],
    ['per_page', 'The size of a page is PageSize.'],
    ['perPage', 'The size of a page is PageSize.'],
    ['page_size', 'The size of a page is PageSize.'],
    ['page[size]', 'The size of a page is PageSize.'],
    ['$top', 'The size of a page is PageSize.'],
    ['offset', 'Pages go by their number, from 1: page=2, with PageSize.'],
    ['skip', 'Pages go by their number, from 1: page=2, with PageSize.'],
    ['page[number]', 'Pages go by their number, from 1: page=2, with PageSize.'],
    ['page_token', 'Follow the link rel="next" in the header Link or Location: it has the cursor.'],
    ['order', 'The order is sort=Name, descending sort=-Name.'],
    ['order_by', 'The order is sort=Name, descending sort=-Name.'],
    ['orderBy', 'The order is sort=Name, descending sort=-Name.'],
    ['sort_by', 'The order is sort=Name, descending sort=-Name.'],
    ['sortBy', 'The order is sort=Name, descending sort=-Name.'],
    ['$orderby', 'The order is sort=Name, descending sort=-Name.'],
    ['select', 'Some of the properties are chosen by fields=Id,Name.'],
    ['fields[companies]', 'Some of the properties are chosen by fields=Id,Name.'],
    ['q', 'A filter is named after its property, as in Name[contains]=<text>.'],
    ['search', 'A filter is named after its property, as in Name[contains]=<text>.'],
    ['filter[name]', 'A filter is named after its property, as in Name[contains]=<text>.'],
    ['filters[name][$eq]', 'A filter is named after its property, as in Name[contains]=<text>.'],
    ['expand', 'Rows of other entities are not included: read them by their ids, as in Id[]=1&Id[]=2.'],
    ['include', 'Rows of other entities are not included: read them by their ids, as in Id[]=1&Id[]=2.'],
    ['or', 'There is no "or" of several properties; values of one are Name[]=<value>&Name[]=<value>.'],
    ['groupBy', 'Groups, counts and sums are at /Companies/Summary, as in groupBy=<property>&sum=<property>.'],
    ['$count', 'The total is always there, in the header X-Total-Count.'],
    ['format', 'The form is chosen by the header Accept: application/json, text/csv or application/x-ndjson.'],
  ])('%s: %s', (name, hint) => {
    expect(messageFor(company, `${encodeURIComponent(name)}=5`)).toBe(`Companies has no parameter "${name}". ${hint}`)
  })

  test.each([
    ['Name[like]', 'Write Name[contains]=<text>.'],
    ['name[_icontains]', 'Write Name[contains]=<text>.'],
    ['Name[$startsWith]', 'Write Name[begins]=<text>.'],
    ['Name[in]', 'Write Name[]=<value>.'],
    ['Name[0]', 'Write Name[]=<value>.'],
    ['Name[eq]', 'Write Name=<value>.'],
    ['Name[gte]', 'Write Name=>=<value>.'],
    ['Name[null]', 'Write Name=.'],
    ['Name[_nnull]', 'Write Name=!=.'],
    ['Name[nonsense]', 'In brackets there are Name[], Name[begins], Name[contains].'],
    ['Enabled[like]', 'In brackets there are Enabled[].'],
    ['Enabled[gt]', 'In brackets there are Enabled[].'],
    ['Name[ncontains]', 'In brackets there are Name[], Name[begins], Name[contains].'],
    ['Name[nstarts_with]', 'In brackets there are Name[], Name[begins], Name[contains].'],
  ])('%s: %s', (name, hint) => {
    expect(messageFor(company, `${encodeURIComponent(name)}=5`)).toEndWith(`". ${hint}`)
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
