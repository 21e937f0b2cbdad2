import type { Dashboard, Panel } from './dashboard.ts'

const RATE = '[$__rate_interval]'

/** Quantiles of a histogram over all gateways, by `label` where it is given. */
function quantiles(title: string, histogram: string, help: string, label: string | null = null): Panel {
  const by = label === null ? 'le' : `le, ${label}`
  const of = label === null ? '' : ` {{${label}}}`
  const queries = [0.5, 0.95, 0.99].map((quantile) => ({
    expr: `histogram_quantile(${quantile}, sum by (${by}) (rate(${histogram}_bucket${RATE})))`,
    legend: `p${quantile * 100}${of}`,
  }))
  return { title, show: 'lines', unit: 's', help, queries }
}

function number(title: string, expr: string, unit = 'short', redFrom?: number): Panel {
  return {
    ...{ title, show: 'number', unit, queries: [{ expr, legend: title }] },
    ...(redFrom === undefined ? {} : { redFrom }),
  }
}

function lines(title: string, unit: string, expr: string, legend: string, help?: string): Panel {
  return {
    ...{ title, show: 'lines', unit, queries: [{ expr, legend }] },
    ...(help === undefined ? {} : { help }),
  }
}

/** Whether it works, what is slow, what waits. */
export const OPERATIONS_DASHBOARD: Dashboard = {
  uid: 'tallygate-operations',
  title: 'tallygate: operations',
  rows: [
    {
      title: 'Now',
      panels: [
        number(
          'Alerts that fire',
          'count(ALERTS{alertname=~"Tallygate.*",alertstate="firing"}) or vector(0)',
          'short',
          1,
        ),
        number('Gateways that answer', 'sum(up{job="tallygate"})'),
        number('Workers that run', 'max(tallygate_processes{kind="worker",state="running"})'),
        number('Silent processes', 'sum(max by (kind) (tallygate_processes{state="silent"}))', 'short', 1),
        number('Oldest record not counted', 'max(tallygate_ledger_oldest_uncommitted_seconds)', 's', 10),
        number('Missing records', 'max(tallygate_missing_records)', 'short', 1),
        number('Dead letters', 'max(tallygate_dead_letters)', 'short', 1),
        number('Open calls', 'sum(tallygate_open_calls)'),
      ],
    },
    {
      title: 'Calls',
      panels: [
        lines(
          'Calls by how they ended',
          'reqps',
          `sum by (outcome, status_class) (rate(tallygate_calls_total${RATE}))`,
          '{{outcome}} {{status_class}}',
        ),
        lines(
          'Failures of upstreams',
          'reqps',
          `sum by (upstream, cause) (rate(tallygate_upstream_failures_total${RATE}))`,
          '{{upstream}} {{cause}}',
        ),
        {
          title: 'Refused',
          show: 'lines',
          unit: 'reqps',
          help: 'By a limit or another rule, of known clients; and before the client was known: wrong, revoked and expired keys.',
          queries: [
            { expr: `sum by (reason) (rate(tallygate_refused_calls_total${RATE}))`, legend: '{{reason}}' },
            {
              expr: `sum by (reason) (rate(tallygate_refused_requests_total${RATE}))`,
              legend: '{{reason}}, unknown',
            },
          ],
        },
        quantiles(
          'First byte',
          'tallygate_call_first_byte_seconds',
          'From the arrival of a request to the first byte of its answer.',
          'upstream',
        ),
        quantiles(
          'Whole answer',
          'tallygate_call_duration_seconds',
          'From the arrival of a request to the last byte of its answer.',
          'upstream',
        ),
        quantiles(
          'In the gateway itself',
          'tallygate_call_own_seconds',
          'What the gateway adds to a call. Waiting for a body or a limit is in it.',
        ),
      ],
    },
    {
      title: 'Counting',
      panels: [
        lines(
          'Records that wait',
          'short',
          'sum by (instance) (tallygate_ledger_uncommitted_records)',
          '{{instance}}',
        ),
        lines(
          'Journal, part of JOURNAL_MAX_BYTES',
          'percentunit',
          'max by (instance) (tallygate_ledger_uncommitted_bytes / tallygate_journal_max_bytes)',
          '{{instance}}',
        ),
        lines(
          'Free on the disk of the journal',
          'percentunit',
          'min by (instance) (tallygate_journal_disk_free_bytes / tallygate_journal_disk_bytes)',
          '{{instance}}',
        ),
        lines('Lag by shard', 's', 'max by (shard) (tallygate_shard_lag_seconds)', '{{shard}}'),
        lines(
          'Counted by worker',
          'reqps',
          `sum by (instance) (rate(tallygate_worker_counted_records_total${RATE}))`,
          '{{instance}}',
        ),
        {
          title: 'What workers could not count',
          show: 'lines',
          unit: 'short',
          queries: [
            { expr: `sum(increase(tallygate_worker_gaps_total${RATE}))`, legend: 'gaps' },
            { expr: `sum(increase(tallygate_worker_dead_letters_total${RATE}))`, legend: 'dead letters' },
            {
              expr: `sum(increase(tallygate_worker_damaged_entries_total${RATE}))`,
              legend: 'damaged entries',
            },
          ],
        },
        lines('Silence of processes', 's', 'max by (kind) (tallygate_heartbeat_age_seconds)', '{{kind}}'),
        lines(
          'Jobs without their usage',
          'short',
          'max by (upstream) (tallygate_unsettled_jobs) or vector(0)',
          '{{upstream}}',
        ),
        {
          title: 'Kafka',
          show: 'lines',
          unit: 'short',
          queries: [
            { expr: 'max(tallygate_kafka_waiting_calls) or vector(0)', legend: 'waiting' },
            { expr: `max(increase(tallygate_kafka_sent_calls_total${RATE})) or vector(0)`, legend: 'sent' },
            {
              expr: `max(increase(tallygate_kafka_skipped_calls_total${RATE})) or vector(0)`,
              legend: 'skipped',
            },
          ],
        },
      ],
    },
    {
      title: 'Stores, keys, prices, certificate',
      panels: [
        lines('Keys not read for', 's', 'max by (instance) (tallygate_keys_stale_seconds)', '{{instance}}'),
        lines(
          'Clock against PostgreSQL',
          's',
          'max by (instance) (abs(tallygate_clock_offset_seconds))',
          '{{instance}}',
        ),
        {
          title: 'Limits',
          show: 'lines',
          unit: 'short',
          queries: [
            { expr: 'sum(tallygate_limit_waiting_calls)', legend: 'waiting calls' },
            { expr: 'sum(tallygate_limit_degraded)', legend: 'gateways without Redis' },
            {
              expr: `sum(rate(tallygate_limit_exchange_failures_total${RATE}))`,
              legend: 'failed exchanges a second',
            },
          ],
        },
        lines('Age of prices', 's', 'max(tallygate_prices_age_seconds)', 'age'),
        lines('Models whose newer price is doubted', 'short', 'max(tallygate_prices_held_models)', 'held'),
        lines(
          'Certificate ends in',
          's',
          'min(tallygate_certificate_expiry_seconds) - time()',
          'left',
          'NaN: plain HTTP.',
        ),
      ],
    },
    {
      title: 'Processes',
      panels: [
        lines(
          'CPU',
          'percentunit',
          `rate(process_cpu_seconds_total{job=~"tallygate.*"}${RATE})`,
          '{{job}} {{instance}}',
        ),
        lines('Memory', 'bytes', 'process_resident_memory_bytes{job=~"tallygate.*"}', '{{job}} {{instance}}'),
        lines(
          'Event loop lag, p99',
          's',
          'nodejs_eventloop_lag_p99_seconds{job=~"tallygate.*"}',
          '{{job}} {{instance}}',
        ),
      ],
    },
  ],
}
