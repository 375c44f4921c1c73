import { ApiError, type ErrorCode } from '../errors.ts'
import type { CsvForm } from '../model/query.ts'

/** The parameters that belong to CSV; undefined: it is not there. */
export interface CsvParameters {
  bom?: boolean
  excel?: boolean
  /** True if the language has decimal commas. */
  locale?: boolean
}

/** Reads one parameter of a CSV. @throws ApiError InvalidForm */
export function readCsvParameter(read: CsvParameters, name: keyof CsvParameters, value: string): void {
  read[name] = once('InvalidForm', name, read[name], name === 'locale' ? parseLocale(value) : parseSwitch(name, value))
}

/** The style of a CSV with these parameters. */
export function csvFormOf({ bom = false, excel = false, locale = false }: CsvParameters): CsvForm {
  return { hasMark: bom, isForExcel: excel, hasDecimalComma: locale }
}

/** Refuses parameters that would have no effect, because they were meant for another form. @throws ApiError InvalidForm */
export function refuseCsvOnly({ bom, excel, locale }: CsvParameters, what: string): void {
  const target = bom ? 'bom' : excel ? 'excel' : locale !== undefined ? 'locale' : null
  if (target === null) return
  const message = `${target} belongs to Accept: text/csv, which ${what} not: send that, or leave ${target} out.`
  throw new ApiError('InvalidForm', message, { target })
}

/** Refuses parameters of pages in a request that has every row. @throws ApiError */
export function refusePaging(read: { readonly page?: unknown; readonly pageSize?: unknown; readonly cursor?: unknown }): void {
  for (const [name, key, code] of PAGING)
    if (read[key] !== undefined) {
      const message = `A stream has every row, and no pages: leave ${name} out, or ask for application/json.`
      throw new ApiError(code, message, { target: name })
    }
}

const PAGING = [
  ['page', 'page', 'InvalidPage'],
  ['PageSize', 'pageSize', 'InvalidPageSize'],
  ['cursor', 'cursor', 'InvalidCursor'],
] as const

/** The value of a parameter that may be given once. @throws ApiError with this code where it was given before */
export function once<Value>(code: ErrorCode, target: string, before: Value | undefined, value: Value): Value {
  if (before !== undefined) throw new ApiError(code, `${target} is given twice.`, { target })
  return value
}

function parseSwitch(name: string, text: string): boolean {
  if (text !== '0' && text !== '1') throw new ApiError('InvalidForm', `${name} is 1 or 0.`, { target: name })
  return text === '1'
}

/** Returns whether a language has decimal commas. @throws ApiError for none, or one with another mark */
function parseLocale(text: string): boolean {
  try {
    const [language] = Intl.NumberFormat.supportedLocalesOf(text)
    const mark = language && new Intl.NumberFormat(language).formatToParts(1.5).find(({ type }) => type === 'decimal')?.value
    if (mark === ',' || mark === '.') return mark === ','
  } catch {
    // Not a tag of a language.
  }
  const message = 'locale is a language with decimal points or commas, such as de, fr-CA or en.'
  throw new ApiError('InvalidForm', message, { target: 'locale' })
}
