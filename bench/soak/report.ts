import { headOf, tableOf } from '../stand/results.ts'
import type { Testbed } from '../stand/testbed.ts'
import type { Books } from './books.ts'
import type { AtRest, Course } from './figures.ts'

/** All that a run found. */
export interface SoakResults {
  readonly testbed: Testbed
  /** Of the machine's CPU, over the run: what this deployment, its load and its upstream took, and everything else. */
  readonly ownShare: number
  readonly otherShare: number
  readonly minutes: number
  readonly callsPerSecond: number
  readonly processes: number
  readonly workers: number
  readonly shards: number
  readonly books: Books
  readonly courses: readonly Course[]
  readonly atRest: readonly AtRest[]
  /** Why the run has failed, in words; empty: it has not. */
  readonly failures: readonly string[]
}

const ABOUT = [
  'Written by `npm run soak`. A reading every 30 s; slopes are of a straight line through the last two thirds, by least',
  'squares, with the standard error. A figure grows where its slope less twice that error is above what is allowed.',
  'Private memory is what a process shares with no other; descriptors and memory of PostgreSQL are of all its processes.',
]

export function renderSoak(results: SoakResults): string {
  const { testbed, ownShare, otherShare, minutes, callsPerSecond, books, courses, failures } = results
  const percent = (share: number) => `${Math.round(share * 100)} %`
  const lines = [
    ...headOf('An hour of calls', ABOUT, testbed, {
      more: [
        `${minutes} minutes at ${callsPerSecond} calls a second; ${results.processes} gateway processes, ${results.workers} workers, ${results.shards} shards`,
        `Of the CPU the run took ${percent(ownShare)}, other programs ${percent(otherShare)}.`,
        `${books.calls} calls reached the upstream, ${books.counted} requests were counted: lost ${books.lost}, doubled ${books.doubled}.`,
      ],
    }),
    ...tableOf(
      ['', 'at first', 'at last', 'highest', 'mean, last two thirds', 'growth an hour', 'allowed', ''],
      courses.map(cellsOf),
    ),
    '',
    ...tableOf(
      ['open descriptors at rest, 70 s without a call', 'before', 'after', 'allowed'],
      results.atRest.map((row) => [row.name, row.before, row.after, row.allowed]),
    ),
    '',
    ...(failures.length === 0
      ? ['Nothing grew that should not.']
      : failures.map((failure) => `**${failure}**`)),
  ]
  return `${lines.join('\n')}\n`
}

function cellsOf({ name, unit, first, last, highest, fit, limit, verdict }: Course): readonly string[] {
  const shown = (value: number) => Number(value.toPrecision(value < 100 ? 3 : 4)).toString()
  const isFree = limit === null || limit === Number.POSITIVE_INFINITY
  return [
    unit === '' ? name : `${name}, ${unit}`,
    shown(first),
    shown(last),
    shown(highest),
    fit === null ? '' : shown(fit.mean),
    fit === null ? '' : `${fit.perHour < 0 ? '' : '+'}${shown(fit.perHour)} ± ${shown(fit.error)}`,
    isFree ? '' : shown(limit),
    isFree ? '' : verdict,
  ]
}
