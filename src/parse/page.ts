import { ApiError } from '../errors.ts'

export const PAGE_SIZE_MIN = 5
export const PAGE_SIZE_MAX = 50
export const PAGE_SIZE_DEFAULT = 20

/** Sizes of pages, and the one of a request that names none. */
interface PageSizes {
  readonly min: number
  readonly max: number
  readonly normal: number
}

const LIST_PAGES: PageSizes = { min: PAGE_SIZE_MIN, max: PAGE_SIZE_MAX, normal: PAGE_SIZE_DEFAULT }
/** Groups of a summary's page. D76 */
export const SUMMARY_PAGES: PageSizes = { min: 5, max: 1_000, normal: 100 }

/** No table has that many pages, and a page's offset stays a safe integer. */
const PAGE_MAX = 1e12

const INTEGER = /^-?\d+$/

/** The size of a page, set to the nearest boundary without a word. Spec 4.2, Paging 2. @throws ApiError InvalidPageSize */
export function parsePageSize(text: string, { min, max }: PageSizes = LIST_PAGES): number {
  if (!INTEGER.test(text)) {
    const message = `PageSize must be an integer; ${min} to ${max} make a difference.`
    throw new ApiError('InvalidPageSize', message, { target: 'PageSize' })
  }
  return Math.min(Math.max(Number(text), min), max)
}

/** The page's number, 1 upwards; however large, it is only past the end. @throws ApiError InvalidPage */
export function parsePage(text: string): number {
  const page = INTEGER.test(text) ? Number(text) : 0
  if (page < 1) throw new ApiError('InvalidPage', 'page must be an integer of 1 or more.', { target: 'page' })
  return Math.min(page, PAGE_MAX)
}
