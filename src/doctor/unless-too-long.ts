import { isQueryTimeout } from '../store/connection/postgres.ts'
import { type Finding, warning } from './finding.ts'

/**
 * What a check finds, or that Postgres took too long to answer it: one slow query must not hide the
 * findings of the others.
 */
export async function unlessTooLong(
  name: string,
  check: Promise<Finding | readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    return [await check].flat()
  } catch (error) {
    if (!isQueryTimeout(error)) throw error
    return [
      warning(
        name,
        'not known: Postgres answers, but took too long to work it out',
        'look at the load of Postgres, and at how many rows daily_usage and calls have',
      ),
    ]
  }
}
