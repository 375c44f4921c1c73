import type { ListQuery } from '../model/query.ts'

/** What would make a list cheaper, by what it asks for; a clause of a sentence. */
export function narrowing({ filters, sorts, page, seek }: ListQuery): string {
  const ways: string[] = []
  const excluding = filters.filter(({ operator }) => operator.prefix === '!=')
  if (excluding.length === filters.length)
    ways.push('filter with = or a range that few rows match, which != and no filter at all are not')
  else ways.push('narrow the ranges, or add a filter that few rows match')
  if (sorts.length > 1) ways.push(`sort by one property, such as ${sorts[0]?.property.name}`)
  const unindexed = sorts.find(({ property }) => !property.indexed)
  if (unindexed) ways.push(`sort by another property than ${unindexed.property.name}, which has no index`)
  if (page > 1 && seek === null) ways.push(`follow the link "next" page by page instead of asking for page ${page}`)
  return ways.join('; ')
}
