// View of a dropped file: how it is read, where each of its columns goes, and its first rows.
import type { CsvRecord } from '../../spreadsheets/csvRecords.ts'
import { Button, Select } from './controls.tsx'
import { formatCount, formatValue } from './format.ts'
import type { Chosen } from './importColumns.ts'
import { type References, withName } from './importReferences.ts'
import type { ImportRow, ImportValue } from './importRows.ts'
import { tableOf } from './importSheet.ts'
import type { ImportProperty } from './importTarget.ts'
import type { ImportWork, Opened } from './importWork.ts'
import { type Property, upperFirst } from './resources.ts'

/** Encodings that a reader may choose. */
const ENCODINGS = ['utf-8', 'windows-1252', 'windows-1250', 'iso-8859-15', 'macintosh', 'utf-16le']
/** Languages that a reader may choose; the menu begins with the languages of the browser. */
const LANGUAGES = ['de', 'en-GB', 'en-US', 'fr', 'nl', 'es', 'it', 'pt', 'pl', 'cs', 'sv', 'da', 'fi', 'hu', 'tr', 'de-CH']
const DAY = Date.UTC(2026, 8, 1)

interface Props {
  readonly work: ImportWork
  readonly opened: Opened
}

/** Menus for the sheet, the language, the encoding and the header of the file. They show what the page has recognized. */
export function Reading({ work, opened }: Props) {
  const { name, file, sheet, header, footer, language, found } = opened
  const { records = [] } = file.sheets[sheet] ?? {}
  const languages = [...new Set([language, ...navigator.languages, ...LANGUAGES])].filter(Boolean)
  const options = [
    { name: '', words: 'as programs write: 2026-09-01, 1234.5' },
    ...languages.map((one) => ({ name: one, words: wordsOfLanguage(one) })),
  ]
  return (
    <section aria-label="File">
      <p>
        <strong>
          <bdi>{name}</bdi>
        </strong>{' '}
        <span class="count">{formatCount(tableOf(records, header, footer).length)} rows</span>{' '}
        <Button label="Close the file" disabled={work.isBusy} onClick={() => work.close()} />
      </p>
      <div class="bar">
        {file.sheets.length > 1 && (
          <label for="import-sheet">
            Sheet{' '}
            <Select
              id="import-sheet"
              label="Sheet"
              value={String(sheet)}
              options={file.sheets.map((one, index) => ({ name: String(index), words: one.name }))}
              take={(value) => work.chooseSheet(Number(value))}
            />
          </label>
        )}
        <label for="import-language">
          Days and numbers{' '}
          <Select
            id="import-language"
            label="Days and numbers"
            value={language}
            options={options}
            take={(value) => work.chooseLanguage(value)}
          />
        </label>
        {file.encoding !== null && (
          <label for="import-encoding">
            Characters{' '}
            <Select
              id="import-encoding"
              label="Characters"
              value={file.encoding}
              options={[...new Set([file.encoding, ...ENCODINGS])]}
              take={(value) => void work.chooseEncoding(value)}
            />
          </label>
        )}
        <label>
          Names of columns in {file.unit}{' '}
          <input
            type="number"
            class="page"
            min="1"
            value={records[header.index]?.line ?? 1}
            onChange={({ currentTarget }) => work.chooseHeader(Number(currentTarget.value))}
          />
        </label>
      </div>
      {footer.count > 0 && (
        <p>
          {wordsOfFooter(file.unit, records.slice(-footer.count))}{' '}
          <label>
            <input
              type="checkbox"
              checked={footer.isTaken}
              disabled={work.isBusy}
              onChange={({ currentTarget }) => work.takeFooter(currentTarget.checked)}
            />{' '}
            Take {footer.count === 1 ? 'it' : 'them'}, too
          </label>
        </p>
      )}
      {found.doubt && (
        <p class="trouble" role="alert">
          {found.doubt.text} is taken for {found.doubt.value}. If {found.doubt.other.value} is meant, choose{' '}
          {wordsOfLanguage(found.doubt.other.language)}.
        </p>
      )}
    </section>
  )
}

/** Says that totals or notes are below the table: `Row 304, “Summe”, seems to be a total or a note: it is left out.` */
function wordsOfFooter(unit: string, records: readonly CsvRecord[]): string {
  const [first] = records
  const last = records.at(-1)
  const text = first?.cells.find((cell) => cell?.trim())?.trim() ?? ''
  if (first === last) return `${upperFirst(unit)} ${first?.line}, “${text}”, seems to be a total or a note: it is left out.`
  return `${upperFirst(unit)}s ${first?.line} to ${last?.line}, from “${text}” on, seem to be totals or notes: they are left out.`
}

/** Returns the name of a language, with a day and a number in its notation: `German: 01.09.2026, 1.234,5`. */
function wordsOfLanguage(language: string): string {
  try {
    const name = new Intl.DisplayNames('en', { type: 'language' }).of(language)
    const day = new Intl.DateTimeFormat(language, { day: '2-digit', month: '2-digit', year: 'numeric', timeZone: 'UTC' }).format(
      DAY,
    )
    return `${name}: ${day}, ${new Intl.NumberFormat(language).format(1234.5)}`
  } catch {
    // The browser may not know the language.
    return language
  }
}

/** Table of the file's columns, with menus that choose the property for each column. */
export function ColumnTable({ work, opened }: Props) {
  const { columns, chosen, mismatched } = opened
  const options = [{ name: '', words: 'left out' }, ...work.choices.map(({ value, label }) => ({ name: value, words: label }))]
  const taken = work.doubles()
  return (
    <section aria-labelledby="import-columns">
      <h2 id="import-columns">Columns</h2>
      {taken.length > 0 && (
        <p class="trouble" role="alert">
          Two columns go to {taken.map(({ label }) => label).join(', ')}: leave one of them out.
        </p>
      )}
      <div class="scroll">
        <table class="columns">
          <thead>
            <tr>
              <th scope="col">In the file</th>
              <th scope="col">Goes to</th>
              <th scope="col">Values</th>
            </tr>
          </thead>
          <tbody>
            {columns.map((column) => (
              <tr key={column.index}>
                <th scope="row">
                  <bdi>{column.header || `Column ${column.index + 1}`}</bdi>
                </th>
                <td>
                  <Select
                    label={`${column.header || `Column ${column.index + 1}`} goes to`}
                    class={chosen.has(column.index) ? '' : 'none'}
                    value={chosen.get(column.index) ?? ''}
                    options={options}
                    take={(value) => work.chooseColumn(column, value)}
                  />
                  <Mismatch property={mismatched.get(column.index)} chosen={chosen} />
                </td>
                <td class="none">
                  <bdi>{column.examples.join(', ')}</bdi>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}

interface MismatchProps {
  readonly property: ImportProperty | undefined
  readonly chosen: Chosen
}

/**
 * Says why a column whose values are yes and no is left out. Shows nothing if a different column goes to the property that the
 * header of this column names.
 */
function Mismatch({ property, chosen }: MismatchProps) {
  if (property === undefined || [...chosen.values()].includes(property.name)) return null
  return <p class="count">It says yes and no: choose {property.label} if it is meant.</p>
}

const PREVIEW_ROWS = 5

/** The first rows of the file as they would be stored. */
export function Preview({ work }: Pick<Props, 'work'>) {
  const rows: readonly ImportRow[] = work.preview(PREVIEW_ROWS)
  const references = work.state.value.check?.references ?? new Map()
  const [first] = rows
  if (!first || first.values.length === 0) return null
  return (
    <section aria-labelledby="import-preview">
      <h2 id="import-preview">The first rows as they will be</h2>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard */}
      <section class="scroll low" aria-label="The first rows" tabIndex={0}>
        <table>
          <thead>
            <tr>
              {first.values.map(({ property }) => (
                <th key={property.name} scope="col">
                  {property.label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.at}>
                {row.values.map((value) => (
                  <td key={value.property.name}>{shownValue(value, references)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </section>
  )
}

/**
 * Returns a value as text for people. If the cell stands for a row, returns the cell, and the row's name in brackets if the page
 * knows it.
 */
export function shownValue({ property, json, text, cell, isName }: ImportValue, references: References): string {
  const rows = references.get(property.name)
  if (isName) return rows === undefined ? cell : withName(rows, cell)
  if (text === null) return ''
  const value = json.startsWith('"') ? text : JSON.parse(json)
  return formatValue({ ...property, kind: property.kind.name } as unknown as Property, value)
}
