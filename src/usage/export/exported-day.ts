import type { DailyRow } from '../daily-row.ts'
import { LATER_DIMENSIONS, type NameField } from '../dimensions.ts'

/** A row of daily totals as it is given to other programs, with the names that people know things by. */
export interface ExportedDay extends DailyRow, Readonly<Record<NameField, string | null>> {}

/** The dimensions that came after the first release of the exports, by column, where they have a value. */
export function laterDimensions(
  value: (dimension: (typeof LATER_DIMENSIONS)[number]) => string,
): Readonly<Record<string, string>> {
  const values = LATER_DIMENSIONS.map((dimension) => [dimension.column, value(dimension)] as const)
  return Object.fromEntries(values.filter(([, value]) => value !== ''))
}
