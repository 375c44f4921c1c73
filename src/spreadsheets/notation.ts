// Reads values as spreadsheets write them in a language: days, numbers and booleans. Runs in browsers, too.
import { KIND_TRAITS, type NotatedName } from '../model/kindTraits.ts'
import { namedDay } from './monthNames.ts'

/** Notation of values in a language. */
export interface Notation {
  readonly language: string
  /** Order of year, month and day. */
  readonly dayOrder: DayOrder
  readonly hasDecimalComma: boolean
  readonly trueWords: readonly string[]
  readonly falseWords: readonly string[]
}

type DayOrder = 'DMY' | 'MDY' | 'YMD'

/** Words for true and false by language; the words of spreadsheets come first. English words are valid in all languages. */
const BOOLEANS: Readonly<Record<string, readonly [trueWords: string, falseWords: string]>> = {
  en: ['true yes y 1 x', 'false no n 0'],
  cs: ['pravda ano a', 'nepravda ne n'],
  da: ['sand ja j', 'falsk nej n'],
  de: ['wahr ja j', 'falsch nein n'],
  el: ['αληθησ αληθής ναι', 'ψευδησ ψευδής οχι όχι'],
  es: ['verdadero sí si s', 'falso no n'],
  et: ['tõene jah', 'väär ei'],
  fi: ['tosi kyllä k', 'epätosi ei e'],
  fr: ['vrai oui o', 'faux non n'],
  hr: ['true da', 'false ne'],
  hu: ['igaz igen i', 'hamis nem n'],
  it: ['vero sì si s', 'falso no n'],
  lt: ['taip', 'ne'],
  lv: ['patiess jā', 'aplams nē'],
  nb: ['sann ja j', 'usann nei n'],
  nl: ['waar ja j', 'onwaar nee n'],
  nn: ['sann ja j', 'usann nei n'],
  no: ['sann ja j', 'usann nei n'],
  pl: ['prawda tak t', 'fałsz nie n'],
  pt: ['verdadeiro sim s', 'falso não nao n'],
  ro: ['adevărat da d', 'fals nu n'],
  ru: ['истина да', 'ложь нет'],
  sk: ['pravda áno', 'nepravda nie'],
  sl: ['true da', 'false ne'],
  sv: ['sant ja j', 'falskt nej n'],
  tr: ['doğru evet e', 'yanliş yanlış hayır h'],
  uk: ['істина так', 'хибність хиба ні'],
}

const words = (text: string) => text.split(' ').filter(Boolean)

/** Returns the notation of a language tag such as `de` or `fr-CH`; null if `decimalMarkOf` returns null for it. */
export function notationOf(language: string): Notation | null {
  const mark = decimalMarkOf(language)
  const supported = supportedLocale(language)
  if (mark === null || supported === null) return null
  const [trueEnglish, falseEnglish] = BOOLEANS.en as readonly [string, string]
  const [trueOwn, falseOwn] = BOOLEANS[new Intl.Locale(supported).language] ?? ['', '']
  return {
    language,
    dayOrder: dayOrderOf(supported),
    hasDecimalComma: mark === ',',
    trueWords: words(`${trueEnglish} ${trueOwn}`),
    falseWords: words(`${falseEnglish} ${falseOwn}`),
  }
}

/**
 * Returns the decimal mark of a language; null if the text is not a language, or its numbers have neither a point nor a comma.
 */
export function decimalMarkOf(language: string): ',' | '.' | null {
  const supported = supportedLocale(language)
  if (supported === null) return null
  const mark = new Intl.NumberFormat(supported).formatToParts(1.5).find(({ type }) => type === 'decimal')?.value
  return mark === ',' || mark === '.' ? mark : null
}

function supportedLocale(language: string): string | null {
  try {
    return Intl.NumberFormat.supportedLocalesOf(language)[0] ?? null
  } catch {
    // Intl throws for a text that is no language tag.
    return null
  }
}

function dayOrderOf(locale: string): DayOrder {
  // The Gregorian calendar is asked for, because spreadsheets write its years.
  const parts = new Intl.DateTimeFormat(locale, { calendar: 'gregory' }).formatToParts(0)
  const order = parts.flatMap(({ type }) => (/^(?:day|month|year)$/.test(type) ? [type.charAt(0).toUpperCase()] : [])).join('')
  return order === 'MDY' || order === 'YMD' ? order : 'DMY'
}

/**
 * Converts a cell to the form that the API takes: `2026-09-01`, `2026-09-01T09:00:00Z`, `1234.5`, `true`. Times are in UTC, and a
 * day without a time stays a day. Returns null if, in this language, the cell is not a value of the kind.
 */
export function readNotated(kind: NotatedName, cell: string, notation: Notation): string | null {
  return readByKind[kind](cell.trim(), notation)
}

const readByKind: Readonly<Record<NotatedName, (text: string, notation: Notation) => string | null>> = {
  boolean: readBoolean,
  integer: readNumber,
  decimal: readNumber,
  date: (text, notation) => readTime('day', text, notation),
  instant: (text, notation) => readTime('instant', text, notation),
}

function readBoolean(text: string, { trueWords, falseWords }: Notation): string | null {
  const lower = text.toLowerCase()
  if (trueWords.includes(lower)) return 'true'
  return falseWords.includes(lower) ? 'false' : null
}

/**
 * Returns whether a language has all these texts as words for yes and no. Digits do not count, because they can be numbers. If
 * all texts are single letters, there must be letters for both yes and no.
 */
export function areYesOrNo(texts: readonly string[]): boolean {
  const given = texts.map((text) => text.trim().toLowerCase())
  if (given.length === 0 || !given.every((text) => /^\p{Letter}+$/u.test(text))) return false
  return Object.values(BOOLEANS).some(([trueText, falseText]) => {
    const yes = words(trueText)
    const no = words(falseText)
    const isClear = given.some((text) => text.length > 1) || (given.some(isIn(yes)) && given.some(isIn(no)))
    return isClear && given.every(isIn([...yes, ...no]))
  })
}

const isIn = (known: readonly string[]) => (text: string) => known.includes(text)

/** Matches a space or an apostrophe that separates groups of three digits, as in `1 234` and `1'234`. */
const GROUPS = "['’\\u0020\\u00a0\\u202f]"
const number = (group: string, mark: string) =>
  new RegExp(`^(\\d{1,3}(?:(?:${group}\\d{3})+|(?:${GROUPS}\\d{3})+)|\\d+)(?:${mark}(\\d+))?$`)
const WITH_COMMA = number('\\.', ',')
const WITH_POINT = number(',', '\\.')
/** Matches `12,34,567.5`, as people in India write numbers: groups of two digits, and a last group of three digits. */
const WITH_LAKHS = /^(\d{1,2}(?:,\d\d)+,\d{3})(?:\.(\d+))?$/
/** Matches the sign or the code of a currency, as in `$1,234.50`, `1.234,50 €` and `CHF 1'234`. */
const CURRENCY = '(?:\\p{Currency_Symbol}|US\\$|C\\$|A\\$|Rs\\.?|zł|Kč|kr\\.?|Fr\\.|Ft|lei|[A-Z]{3})'
const MONEY = new RegExp(`^(?:${CURRENCY}[ \\u00a0\\u202f]?)?(.*?)(?:[ \\u00a0\\u202f]?${CURRENCY})?$`, 'u')
/** Matches negative numbers: `-5`, `(5)` of accounting, and `5-` of SAP. */
const NEGATIVE = /^(?:[-−] ?([^-−].*)|\((.+)\)|(.*\d) ?-)$/

function readNumber(text: string, { hasDecimalComma }: Notation): string | null {
  const plain = withoutCurrency(text)
  const [, ...forms] = NEGATIVE.exec(plain) ?? []
  const negative = forms.find((form) => form !== undefined)
  const absolute = withoutCurrency(negative ?? plain.replace(/^\+/, ''))
  const [, whole, decimals] = digitsOf(absolute, hasDecimalComma) ?? []
  if (whole === undefined) return null
  const digits = whole.replace(/\D/g, '').replace(/^0+(?=\d)/, '')
  return `${negative === undefined ? '' : '-'}${digits}${decimals === undefined ? '' : `.${decimals}`}`
}

function digitsOf(text: string, hasDecimalComma: boolean): RegExpExecArray | null {
  return hasDecimalComma ? WITH_COMMA.exec(text) : (WITH_POINT.exec(text) ?? WITH_LAKHS.exec(text))
}

function withoutCurrency(text: string): string {
  return MONEY.exec(text)?.[1] ?? text
}

const DAY = /^(\d{1,4})([./-]) ?(\d{1,2})\2 ?(\d{1,4})\.?$/
/** Matches a day of eight digits such as `20260901`: a year from 1900 to 2099, the month and the day. */
const COMPACT = /^((?:19|20)\d\d)(\d\d)(\d\d)$/
const TIME = /^(\d{1,2})[:.h](\d\d)(?:[:.](\d\d))?(?: ?([ap])\.?m\.?)?$/i
const DAY_AND_TIME = /^(.*?\d\.?),?(?: +|T)(\d{1,2}[:.h]\d\d.*)$/

function readTime(temporal: 'day' | 'instant', text: string, notation: Notation): string | null {
  const [, dayText = text, timeText] = DAY_AND_TIME.exec(text) ?? []
  const day = readDay(dayText, notation)
  if (day === null || timeText === undefined) return day
  const time = readClock(timeText)
  if (time === null) return null
  // A spreadsheet can write a day with the time 00:00:00. With any other time, the cell is not a day.
  if (temporal === 'day') return time === '00:00:00' ? day : null
  return `${day}T${time}Z`
}

function readDay(text: string, { language, dayOrder }: Notation): string | null {
  const [year = '', month = '', day = ''] =
    namedDay(text, language) ?? COMPACT.exec(text)?.slice(1) ?? numberedDay(text, dayOrder)
  // A year with two digits is refused, because its century would be a guess.
  if (year.length !== 4) return null
  const iso = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
  const date = new Date(`${iso}T00:00:00Z`)
  return Number.isNaN(date.getTime()) || date.toISOString().slice(0, 10) !== iso ? null : iso
}

function numberedDay(text: string, order: DayOrder): [year: string, month: string, day: string] {
  const [, first = '', , second = '', third = ''] = DAY.exec(text) ?? []
  if (first.length === 4 || order === 'YMD') return [first, second, third]
  return order === 'MDY' ? [third, first, second] : [third, second, first]
}

function readClock(text: string): string | null {
  const [, hours = '', minutes = '', seconds = '00', half] = TIME.exec(text) ?? []
  if (hours === '') return null
  const given = Number(hours)
  if (half !== undefined && (given < 1 || given > 12)) return null
  const hour = half === undefined ? given : (given % 12) + (half.toLowerCase() === 'p' ? 12 : 0)
  if (hour > 23 || Number(minutes) > 59 || Number(seconds) > 59) return null
  return `${String(hour).padStart(2, '0')}:${minutes}:${seconds}`
}

/**
 * Languages that messages propose: first one for each common notation, then all languages with known words for true and false.
 */
export const PROPOSED = [...new Set(['de', 'fr', 'nl', 'en-US', 'en-GB', 'de-CH', 'sv', ...Object.keys(BOOLEANS)])]
/** Languages proposed for values in words. English comes first, because English words are valid in all languages. */
const PROPOSED_BY_WORDS = Object.keys(BOOLEANS)
/**
 * Matches the beginning of a day in numbers, such as `01/09`. For such a day, only languages whose `DAY_MARKS` match it are
 * proposed.
 */
const NUMBERED_DAY = /^\d{1,4}[./-] ?\d/
/** Matches the separators that speakers of a language write between day, month and year. */
const DAY_MARKS: Readonly<Record<string, RegExp>> = {
  de: /\./,
  fr: /\//,
  nl: /\d-\d/,
  'en-US': /\//,
  'en-GB': /\//,
}

/**
 * Proposes languages for columns of days that are not in the form of the API. Returns the languages in which all these columns
 * are valid, and the first column. If there are no such languages, returns the languages in which one of the columns is valid,
 * and this column. `column` is null if no language is needed, or no fitting language is known.
 */
export function proposeForColumns<Column extends { readonly cells: readonly string[] }>(
  columns: readonly Column[],
): { readonly proposals: Proposal[]; readonly column: Column | null } {
  const other = columns.filter(({ cells }) => !cells.every((cell) => ISO_DAY.test(cell)))
  const [first] = other
  const all = proposeLanguages(
    'instant',
    other.flatMap(({ cells }) => cells),
  )
  if (first && all.length > 0) return { proposals: all, column: first }
  for (const column of other) {
    const proposals = proposeLanguages('instant', column.cells)
    if (proposals.length > 0) return { proposals, column }
  }
  return { proposals: [], column: null }
}

const ISO_DAY = /^\d{4}-\d\d-\d\d/

/** A language to propose. `value`: the first value, converted from this language to the form of the API. */
export interface Proposal {
  readonly language: string
  /** Further languages that give days the same meaning as `language`, but write numbers in a different way. */
  readonly also: readonly string[]
  readonly value: string
}

/** Returns a text such as `--locale fr or en-GB reads 01/09/2026 as 2026-09-01`. */
export function proposalText({ language, also, value }: Proposal, cell: string): string {
  return `--locale ${[language, ...also].join(' or ')} reads ${cell} as ${value}`
}

/**
 * Returns languages in which all these values are valid. They have at most two different meanings for the first value, so that a
 * message can show both meanings of `01/09/2026`.
 */
export function proposeLanguages(kind: NotatedName, values: readonly string[]): Proposal[] {
  const [first = ''] = values
  const found: (Proposal & { also: string[] })[] = []
  const { temporal, jsonType } = KIND_TRAITS[kind]
  const isNumberedDay = temporal !== null && NUMBERED_DAY.test(first)
  const isOfWords = jsonType !== 'number' && !isNumberedDay
  for (const language of isOfWords ? PROPOSED_BY_WORDS : PROPOSED) {
    if (isNumberedDay && !DAY_MARKS[language]?.test(first)) continue
    const notation = notationOf(language)
    const value = notation && readNotated(kind, first, notation)
    if (notation === null || value === null) continue
    const same = found.find((other) => other.value === value)
    if (same && !isNumberedDay) continue
    if (!values.every((one) => readNotated(kind, one, notation) !== null)) continue
    if (same) same.also.push(language)
    else found.push({ language, also: [], value })
  }
  return found.slice(0, 2)
}
