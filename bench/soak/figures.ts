import { cpuBetween } from '../stand/proc.ts'
import type { Reading } from './readings.ts'
import {
  type Bound,
  type Fit,
  fitLine,
  growsTooFast,
  JUDGED_FROM,
  lastTwoThirds,
  limitOf,
  type Sample,
} from './slope.ts'

/** What is followed through a run. */
interface Figure {
  readonly name: string
  readonly unit: string
  readonly bound: Bound
  /** From a reading and the one before it. */
  of(now: Reading, before: Reading): number
}

/** A figure's course and what is made of it. */
export interface Course {
  readonly name: string
  readonly unit: string
  readonly first: number
  readonly last: number
  readonly highest: number
  /** Of the last two thirds. */
  readonly fit: Fit | null
  /** By how much it may grow in an hour. */
  readonly limit: number | null
  readonly verdict: 'flat' | 'grows' | 'not judged'
  readonly values: readonly number[]
}

/** What a process has open when there have been no calls for a while. */
export interface AtRest {
  readonly name: string
  readonly before: number
  readonly after: number
  readonly allowed: number
}

/**
 * Descriptors before and after the run, without a call. While there are calls they are as many as calls at once, which a
 * busy machine has more of: growth of these says nothing.
 */
export function descriptorsAtRest(before: Reading, after: Reading): readonly AtRest[] {
  return [...before.processes].map(([name, { descriptors }]) => {
    const { absolute, share } = name === 'PostgreSQL' ? BACKENDS : DESCRIPTORS
    return {
      name,
      before: descriptors,
      after: descriptorsOf(after, name),
      allowed: Math.floor(descriptors + Math.max(absolute, share * descriptors)),
    }
  })
}

/** Follows each process and each store through the readings. */
export function coursesOf(readings: readonly Reading[]): readonly Course[] {
  const [first] = readings
  if (first === undefined) return []
  return figuresOf(first).map((figure) => courseOf(figure, readings, first.atMs))
}

function courseOf({ name, unit, bound, of }: Figure, readings: readonly Reading[], beganMs: number): Course {
  const samples: Sample[] = []
  readings.forEach((reading, index) => {
    const before = readings[index - 1]
    const value = before === undefined ? Number.NaN : of(reading, before)
    if (Number.isFinite(value)) samples.push({ atHours: (reading.atMs - beganMs) / MS_PER_HOUR, value })
  })
  const values = samples.map(({ value }) => value)
  const judged = lastTwoThirds(samples)
  const line = fitLine(judged)
  const verdict =
    line === null || judged.length < JUDGED_FROM ? 'not judged' : growsTooFast(line, bound) ? 'grows' : 'flat'
  return {
    name,
    unit,
    first: values[0] ?? Number.NaN,
    last: values.at(-1) ?? Number.NaN,
    highest: Math.max(...values),
    fit: line,
    limit: line === null ? null : limitOf(bound, line),
    verdict,
    values,
  }
}

const MS_PER_HOUR = 3_600_000
/** A leak of 60 bytes a call, at 100 calls a second, is more than this. */
const MEMORY: Bound = { absolute: 20, share: 0.05 }
/** By how many descriptors a process may have more at rest after the run than before: connections of its own. */
const DESCRIPTORS: Bound = { absolute: 5, share: 0.1 }
/** A backend opens each file that it reads, and keeps it: in the end all of them have opened all tables of a day. */
const BACKENDS: Bound = { absolute: 0, share: 0.5 }
/** Of the machine's other work CPU a call depends, too: caches and clocks are shared. */
const CPU: Bound = { absolute: 5, share: 0.25 }
/** A segment of a journal: what it holds is a saw, one tooth a segment. */
const JOURNAL: Bound = { absolute: 8.4, share: 0.1 }
const REDIS_MEMORY: Bound = { absolute: 2, share: 0.05 }
const WAITING: Bound = { absolute: 100, share: 0.5 }
const BYTES_A_CALL: Bound = { absolute: 10, share: 0.05 }
/** Rows that are updated all the time leave dead ones until they are vacuumed. */
const TOTALS: Bound = { absolute: 5, share: 0.1 }

function figuresOf({ processes }: Reading): readonly Figure[] {
  const figures: Figure[] = []
  for (const [name, { cpu }] of processes) {
    figures.push(
      { name: `${name}: private memory`, unit: 'MB', bound: MEMORY, of: (now) => memoryOf(now, name) },
      {
        name: `${name}: RSS`,
        unit: 'MB',
        bound: name === 'PostgreSQL' ? ANY : MEMORY,
        of: (now) => rssOf(now, name),
      },
      { name: `${name}: descriptors`, unit: '', bound: ANY, of: (now) => descriptorsOf(now, name) },
    )
    if (cpu === null) continue
    figures.push({
      name: `${name}: CPU a call`,
      unit: 'µs',
      bound: CPU,
      of: (now, before) => cpuOf(now, before, name),
    })
  }
  figures.push(
    { name: 'journals on disk', unit: 'MB', bound: JOURNAL, of: ({ journalMb }) => journalMb },
    { name: 'Redis: used_memory', unit: 'MB', bound: REDIS_MEMORY, of: ({ redisUsedMb }) => redisUsedMb },
    { name: 'Redis: entries on streams', unit: '', bound: WAITING, of: ({ streamEntries }) => streamEntries },
    { name: 'database', unit: 'MB', bound: ANY, of: ({ databaseMb }) => databaseMb },
    {
      name: 'calls: bytes a call',
      unit: 'B',
      bound: BYTES_A_CALL,
      of: (now) => (now.callsTableMb * 1e6) / now.calls,
    },
    { name: 'daily_usage', unit: 'MB', bound: TOTALS, of: ({ dailyUsageMb }) => dailyUsageMb },
    { name: 'daily_usage: rows', unit: '', bound: TOTALS, of: ({ dailyRows }) => dailyRows },
    {
      name: 'database without calls and daily_usage',
      unit: 'MB',
      bound: TOTALS,
      of: ({ databaseMb, callsTableMb, dailyUsageMb }) => databaseMb - callsTableMb - dailyUsageMb,
    },
  )
  return figures
}

/** Grows by its nature: what matters of it stands in other figures. */
const ANY: Bound = { absolute: Number.POSITIVE_INFINITY, share: 0 }

function memoryOf({ processes }: Reading, name: string): number {
  return processes.get(name)?.privateMb ?? Number.NaN
}

function rssOf({ processes }: Reading, name: string): number {
  return processes.get(name)?.rssMb ?? Number.NaN
}

function descriptorsOf({ processes }: Reading, name: string): number {
  return processes.get(name)?.descriptors ?? Number.NaN
}

function cpuOf(now: Reading, before: Reading, name: string): number {
  const us = cpuBetween(before.processes.get(name)?.cpu ?? null, now.processes.get(name)?.cpu ?? null)
  return us === null ? Number.NaN : us / (now.calls - before.calls)
}
