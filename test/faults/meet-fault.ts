import { setTimeout as delay } from 'node:timers/promises'
import { busyness } from '../support/patience.ts'
import { type Diagnosis, describeTroubles } from './doctor.ts'
import {
  type Fault,
  NAMED_EVERYWHERE_WITHIN_MS,
  NAMED_WITHIN_MS,
  type Surface,
  WELL_WITHIN_MS,
} from './fault.ts'
import type { World } from './world.ts'

/** What became of a fault: a row of the table. */
export interface Row {
  readonly fault: string
  readonly named: { readonly surface: Surface; readonly afterMs: number }[]
  /** `null`: not within the time. */
  wellAfterMs: number | null
  readonly problems: string[]
}

const POLL_MS = 250
/** Before a fault all is well, once the processes have said what they are. */
const SETTLED_WITHIN_MS = 60_000

/** Brings the fault about, waits until it is named, repairs it, and waits until all is well. */
export async function meetFault(world: World, fault: Fault, row: Row): Promise<void> {
  const { gateway = {}, worker = {} } = fault
  await world.run(typeof gateway === 'function' ? await gateway() : gateway, worker)
  await untilWell(world, fault, SETTLED_WITHIN_MS * busyness(), row)
  if (row.problems.length > 0) return
  const alertsBefore = world.receiver.received.length
  const calling = fault.isQuiet === true ? null : world.keepCalling()
  try {
    world.meet()
    const beganMs = performance.now()
    const printed = await fault.begin(world)
    if (typeof printed === 'string') {
      if (!fault.says.test(printed) || !fault.advice.test(printed))
        row.problems.push(`it printed: ${printed}`)
      row.named.push({ surface: 'start', afterMs: performance.now() - beganMs })
    }
    await untilNamed(world, fault, alertsBefore, row)
    await fault.repair(world)
    row.wellAfterMs = await untilWell(world, fault, WELL_WITHIN_MS, row)
    await fault.after?.(world)
  } finally {
    await calling?.stop()
  }
}

/** Looks at all surfaces at once, each by itself: one that hangs holds up no other. */
async function untilNamed(world: World, fault: Fault, alertsBefore: number, row: Row): Promise<void> {
  const beganMs = performance.now()
  const sinceMs = () => performance.now() - (world.metAtMs ?? beganMs)
  const isOver = () => sinceMs() > NAMED_EVERYWHERE_WITHIN_MS
  let last: Diagnosis | null = null
  const watch = async (surface: Surface, isNamed: () => Promise<boolean>) => {
    while (!isOver()) {
      if (await isNamed()) {
        // One that began in time and ended late counts by its end.
        if (!isOver()) row.named.push({ surface, afterMs: sinceMs() })
        return
      }
      await delay(POLL_MS)
    }
  }
  const { line, item, alert, state = 'wrong', says, advice } = fault
  await Promise.all([
    line === null
      ? null
      : watch('doctor', async () => {
          last = await world.doctor()
          const found = last.checks.filter((check) => check.name === line && check.state === state)
          const isNamed = found.some((check) => says.test(check.detail) && advice.test(check.mend ?? ''))
          return isNamed && (last.exitCode === 1 || state === 'note')
        }),
    item === undefined
      ? null
      : watch('/readyz', async () => (await world.degraded())?.includes(item) === true),
    alert === undefined
      ? null
      : watch('alert', async () =>
          world.receiver.received
            .slice(alertsBefore)
            .some(({ body }) => Object(JSON.parse(body)).type === alert),
        ),
  ])
  const wanted: Surface[] = [
    ...(line === null ? [] : (['doctor'] as const)),
    ...(item === undefined ? [] : (['/readyz'] as const)),
    ...(alert === undefined ? [] : (['alert'] as const)),
  ]
  const missing = wanted.filter((one) => !row.named.some(({ surface }) => surface === one))
  const isInTime = row.named.some(({ afterMs }) => afterMs <= NAMED_WITHIN_MS)
  if (missing.length > 0 || !isInTime)
    row.problems.push(
      `named by ${row.named.map(({ surface }) => surface).join(', ')}, not in time by ${missing.join(', ') || 'any'}; doctor:\n${last === null ? '-' : describeTroubles(last)}`,
    )
}

/** @returns after how long; `null`: not in time. */
async function untilWell(world: World, fault: Fault, limitMs: number, row: Row): Promise<number | null> {
  const beganMs = performance.now()
  let last: Diagnosis | null = null
  while (performance.now() - beganMs < limitMs) {
    last = await world.doctor()
    const isStillSaid = last.checks.some(
      ({ name, state, detail }) => name === fault.line && state !== 'ok' && fault.says.test(detail),
    )
    if (last.exitCode === 0 && !isStillSaid) return performance.now() - beganMs
    await delay(POLL_MS)
  }
  row.problems.push(
    `not well after ${limitMs / 1000} s; doctor:\n${last === null ? '-' : describeTroubles(last)}`,
  )
  return null
}

/** All of them as one table. */
export function renderRows(rows: readonly Row[]): string {
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`
  const cells = rows.map(({ fault, named, wellAfterMs }) => [
    fault,
    named.map(({ surface, afterMs }) => `${surface} ${seconds(afterMs)}`).join(', ') || 'NEVER',
    wellAfterMs === null ? 'NO' : `well after ${seconds(wellAfterMs)}`,
  ])
  const lines = [['fault', 'named', 'repaired'], ...cells]
  const widths = [0, 1, 2].map((at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)))
  return lines.map((line) => line.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')).join('\n')
}
