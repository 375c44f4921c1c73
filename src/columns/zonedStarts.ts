// Starts of periods in a time zone, for groups that PostgreSQL has computed.
import type { Row } from '../model/sql.ts'
import type { SummaryQuery } from '../model/summary.ts'
import type { Zone } from '../model/zone.ts'
import { codeParsers } from './codes.ts'
import { printInstant } from './printers.ts'

/** Replaces the first date of each period in a zone by the instant at which the period begins, as PostgreSQL prints it. */
export function withZonedStarts({ keys }: SummaryQuery, groups: readonly Row[]): readonly Row[] {
  if (keys.every(({ zone }) => zone === null)) return groups
  return groups.map((group) => group.map((text, index) => startText(keys[index]?.zone ?? null, text)))
}

function startText(zone: Zone | null, date: string | null): string | null {
  if (zone === null || date === null) return date
  const day = codeParsers.date(date, 0) as number
  return printInstant(Number.isFinite(day) ? zone.startOf(day) : day)
}
