import { Counter, type Registry } from 'prom-client'
import { UNPRICED_REASONS } from '../call/unpriced-reason.ts'
import { TOKEN_CLASSES } from '../call/usage.ts'
import { picoToUsdNumber } from '../domain/pico-usd.ts'
import type { CallCounts } from './call-counts.ts'
import { DurationHistogram } from './duration-histogram.ts'
import { cumulateLatency, cumulateOwnTime } from './latency-counts.ts'
import type { UpstreamCounts } from './model-counts.ts'

/** `cacheReadTokens` -> `cache_read`. */
const CLASS_LABELS: readonly string[] = TOKEN_CLASSES.map((name) =>
  name.slice(0, -'Tokens'.length).replace(/[A-Z]|\d+/g, (part) => `_${part.toLowerCase()}`),
)

export function showCalls(registry: Registry, counts: CallCounts): void {
  const counter = <Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
    show: (count: (labels: Record<Label, string>, value: number) => void) => void,
  ) =>
    new Counter<Label>({
      name,
      help,
      labelNames,
      registers: [registry],
      collect() {
        this.reset()
        show((labels, value) => this.inc(labels, value))
      },
    })

  counter(
    'tallygate_calls_total',
    'Calls of this process that went upstream, by outcome and by the source of their token counts.',
    ['provider', 'upstream', 'outcome', 'status_class', 'usage_source'],
    (add) => {
      for (const { provider, upstream, of } of upstreams(counts)) {
        for (const { count, ...labels } of of.calls()) add({ provider, upstream, ...labels }, count)
      }
    },
  )
  counter(
    'tallygate_tokens_total',
    'Tokens by class. Cached and audio ones are parts of input or output, reasoning is part of output.',
    ['provider', 'model', 'class'],
    (add) => {
      for (const { provider, model, of } of models(counts)) {
        for (const [index, count] of of.tokens.entries()) {
          if (count > 0) add({ provider, model, class: CLASS_LABELS[index] ?? '' }, count)
        }
      }
    },
  )
  counter(
    'tallygate_cost_usd_total',
    'Cost of the calls that have a price, in US dollars.',
    ['provider', 'model'],
    (add) => {
      for (const { provider, model, of } of models(counts)) {
        if (of.costPico > 0n) add({ provider, model }, picoToUsdNumber(of.costPico))
      }
    },
  )
  counter(
    'tallygate_unpriced_calls_total',
    'Calls that have no cost, and why: what they cost is in no sum.',
    ['provider', 'model', 'reason'],
    (add) => {
      for (const { provider, model, of } of models(counts)) {
        for (const [index, count] of of.unpriced.entries()) {
          if (count > 0) add({ provider, model, reason: UNPRICED_REASONS[index] ?? 'unknown' }, count)
        }
      }
    },
  )
  counter(
    'tallygate_partly_unpriced_calls_total',
    'Calls that used something without a price: their cost is not all of it.',
    ['provider'],
    (add) => {
      for (const [provider, count] of counts.partlyUnpriced) add({ provider }, count)
    },
  )
  counter(
    'tallygate_cost_differences_total',
    'Calls whose cost by the word of the provider is more than 1 % from the cost by our prices.',
    ['provider'],
    (add) => {
      for (const [provider, count] of counts.costDifferences) add({ provider }, count)
    },
  )
  counter(
    'tallygate_suspect_calls_total',
    'Calls that cost more than CALL_ALERT_USD each: booked, and to be looked at.',
    ['provider'],
    (add) => {
      for (const [provider, count] of counts.suspects) add({ provider }, count)
    },
  )
  counter(
    'tallygate_reading_failures_total',
    'Answers that passed unchanged but could not be read for usage.',
    ['provider'],
    (add) => {
      for (const [provider, count] of counts.readingFailures) add({ provider }, count)
    },
  )
  counter(
    'tallygate_total_mismatches_total',
    'Answers whose own token total is not the sum of their parts: perhaps a way of counting we do not know.',
    ['provider'],
    (add) => {
      for (const [provider, count] of counts.totalMismatches) add({ provider }, count)
    },
  )
  counter(
    'tallygate_upstream_failures_total',
    'Calls that failed at their upstream, by cause; sessions too.',
    ['provider', 'upstream', 'cause'],
    (add) => {
      for (const [provider, byUpstream] of counts.upstreamFailures) {
        for (const [upstream, causes] of byUpstream) {
          for (const [cause, count] of causes) add({ provider, upstream, cause }, count)
        }
      }
    },
  )
  counter(
    'tallygate_attempts_failed_total',
    'Attempts of calls by routes after which another target was tried, by reason.',
    ['provider', 'upstream', 'reason'],
    (add) => {
      for (const [provider, byUpstream] of counts.attemptFailures) {
        for (const [upstream, reasons] of byUpstream) {
          for (const [reason, count] of reasons) add({ provider, upstream, reason }, count)
        }
      }
    },
  )
  counter(
    'tallygate_refused_requests_total',
    'Requests that were refused before their client was known: a wrong, revoked or expired key, a disabled client.',
    ['reason'],
    (add) => {
      for (const [reason, count] of counts.refusedRequests) add({ reason }, count)
    },
  )
  counter('tallygate_call_failures_total', 'Calls that failed in the gateway itself.', [], (add) => {
    add({}, counts.failures)
  })

  counter(
    'tallygate_unmetered_calls_total',
    'Calls that passed while the journal took no records (ON_JOURNAL_FULL=unmetered): they are in no usage and no cost but in the log.',
    [],
    (add) => {
      add({}, counts.unmetered)
    },
  )

  showLatencies(registry, counts)
}

function showLatencies(registry: Registry, counts: CallCounts): void {
  const histogram = (name: string, help: string, pick: (of: UpstreamCounts) => UpstreamCounts['latency']) =>
    new DurationHistogram({
      registry,
      name,
      help,
      labelNames: ['provider', 'upstream'],
      select: () =>
        upstreams(counts).map(({ provider, upstream, of }) => ({
          labels: { provider, upstream },
          durations: cumulateLatency(pick(of)),
        })),
    })
  histogram(
    'tallygate_call_duration_seconds',
    'From the arrival of a request to the last byte of its answer, WebSockets left out.',
    ({ latency }) => latency,
  )
  histogram(
    'tallygate_call_first_byte_seconds',
    'From the arrival of a request to the first byte of its answer, WebSockets left out.',
    ({ firstByte }) => firstByte,
  )
  new DurationHistogram({
    registry,
    name: 'tallygate_call_own_seconds',
    help: 'What calls take in this gateway: from arrival until they go upstream, and from the end of the answer until they are recorded. Waiting for a body or a limit is in it, sessions are not.',
    labelNames: [],
    select: () => [{ labels: {}, durations: cumulateOwnTime(counts.ownTime) }],
  })
}

function upstreams(counts: CallCounts) {
  return [...counts.upstreams].flatMap(([provider, byUpstream]) =>
    [...byUpstream].map(([upstream, of]) => ({ provider, upstream, of })),
  )
}

function models(counts: CallCounts) {
  return [...counts.models].flatMap(([provider, byModel]) =>
    [...byModel].map(([model, of]) => ({ provider, model, of })),
  )
}
