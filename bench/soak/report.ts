import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Testbed } from '../overhead/testbed.ts'
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

/** Writes `soak.json` and `soak.md` into the folder. */
export function writeSoakResults(folder: string, results: SoakResults): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'soak.json'), `${JSON.stringify(results, roundFigure, 1)}\n`)
  writeFileSync(join(folder, 'soak.md'), renderSoak(results))
}

function roundFigure(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(5)) : value
}

export function renderSoak(results: SoakResults): string {
  const { testbed, ownShare, otherShare, minutes, callsPerSecond, books, courses, failures } = results
  const { cpu, cores, memoryGb, system, node, date, commit, loadBefore } = testbed
  const percent = (share: number) => `${Math.round(share * 100)} %`
  const lines = [
    '# An hour of calls',
    '',
    'Written by `npm run soak`. A reading every 30 s; slopes are of a straight line through the last two thirds, by least',
    'squares, with the standard error. A figure grows where its slope less twice that error is above what is allowed.',
    'Private memory is what a process shares with no other; descriptors and memory of PostgreSQL are of all its processes.',
    '',
    `- ${cpu}, ${cores} cores, ${memoryGb} GB; ${system}; Node ${node}`,
    `- ${date} UTC, commit ${commit}, load at the beginning ${loadBefore}`,
    `- ${minutes} minutes at ${callsPerSecond} calls a second; ${results.processes} gateway processes, ${results.workers} workers, ${results.shards} shards`,
    `- Of the CPU the run took ${percent(ownShare)}, other programs ${percent(otherShare)}.`,
    `- ${books.calls} calls reached the upstream, ${books.counted} requests were counted: lost ${books.lost}, doubled ${books.doubled}.`,
    '',
    '| | at first | at last | highest | mean, last two thirds | growth an hour | allowed | |',
    '| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |',
    ...courses.map((course) => `| ${cellsOf(course).join(' | ')} |`),
    '',
    '| open descriptors at rest, 70 s without a call | before | after | allowed |',
    '| --- | ---: | ---: | ---: |',
    ...results.atRest.map((row) => `| ${[row.name, row.before, row.after, row.allowed].join(' | ')} |`),
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
