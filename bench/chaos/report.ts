import type { CallTrace } from '../../src/standalone/prove/load.ts'
import { quantile } from '../stand/figures.ts'
import type { Audit } from './audit.ts'
import type { Injection } from './injection.ts'
import type { LagWatch } from './lag-watch.ts'

/** A fault's effects are looked for in calls that were under way in its time, or this long after. */
const AFTER_MS = 1_000

/** One line a fault, as a Markdown table. A call counts for every fault that was there during it. */
export function tableOf(
  faults: readonly string[],
  traces: readonly CallTrace[],
  injections: readonly Injection[],
  audit: Audit,
  watch: LagWatch,
): string {
  const line = (name: string, injected: number | null, calls: readonly CallTrace[]) => {
    const worstLagMs = calls.reduce((worst, { number }) => Math.max(worst, watch.lagMs.get(number) ?? 0), 0)
    const added = calls.flatMap(({ number }) => audit.addedMs.get(number) ?? []).sort((a, b) => a - b)
    const count = (is: (trace: CallTrace) => boolean) => calls.filter(is).length
    return [
      name,
      injected ?? '',
      calls.length,
      count(({ answer }) => answer === 'whole'),
      count(({ answer }) => answer === 'cut'),
      count(({ answer }) => answer === 'error'),
      count(({ answer }) => answer === 'refused'),
      count(({ number }) => audit.lost.has(number)),
      count(({ number }) => audit.doubled.has(number)),
      count(({ number }) => audit.interrupted.has(number)),
      seconds(worstLagMs),
      milliseconds(quantile(added, 0.5)),
      milliseconds(quantile(added, 0.99)),
      milliseconds(added.at(-1) ?? 0),
    ]
  }
  const rows = faults.map((fault) => {
    const own = injections.filter((injection) => injection.fault === fault)
    const during = traces.filter((trace) =>
      own.some(({ fromMs, toMs }) => trace.beganMs <= toMs + AFTER_MS && trace.endedMs >= fromMs),
    )
    return line(fault, own.length, during)
  })
  const quiet = traces.filter(
    (trace) =>
      !injections.some(({ fromMs, toMs }) => trace.beganMs <= toMs + AFTER_MS && trace.endedMs >= fromMs),
  )
  const head = [
    'fault',
    'injected',
    'calls',
    'whole',
    'cut',
    'error',
    'refused',
    'lost',
    'doubled',
    'interrupted',
    'worst lag',
    'added p50',
    'added p99',
    'added max',
  ]
  return [
    head,
    head.map(() => '---'),
    ...rows,
    line('(none)', null, quiet),
    line('all', injections.length, traces),
  ]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`
}

function milliseconds(ms: number): string {
  return `${(Number.isNaN(ms) ? 0 : ms).toFixed(1)} ms`
}
