import type { Dashboard } from './dashboard.ts'

const RATE = '[$__rate_interval]'
const RANGE = '[$__range]'

/** What is used and what it costs, as gateways saw it; bills are made of Postgres. */
export const USAGE_DASHBOARD: Dashboard = {
  uid: 'tallygate-usage',
  title: 'tallygate: usage and cost',
  rows: [
    {
      title: 'In this time',
      panels: [
        {
          title: 'Cost',
          show: 'number',
          unit: 'currencyUSD',
          queries: [{ expr: `sum(increase(tallygate_cost_usd_total${RANGE}))`, legend: 'cost' }],
        },
        {
          title: 'Calls',
          show: 'number',
          unit: 'short',
          queries: [{ expr: `sum(increase(tallygate_calls_total${RANGE}))`, legend: 'calls' }],
        },
        {
          title: 'Input tokens',
          show: 'number',
          unit: 'short',
          queries: [
            { expr: `sum(increase(tallygate_tokens_total{class="input"}${RANGE}))`, legend: 'input' },
          ],
        },
        {
          title: 'Output tokens',
          show: 'number',
          unit: 'short',
          queries: [
            { expr: `sum(increase(tallygate_tokens_total{class="output"}${RANGE}))`, legend: 'output' },
          ],
        },
        {
          title: 'Calls without a cost',
          show: 'number',
          unit: 'short',
          redFrom: 1,
          queries: [
            {
              expr: `sum(increase(tallygate_unpriced_calls_total${RANGE})) or vector(0)`,
              legend: 'unpriced',
            },
          ],
        },
        {
          title: 'Calls above CALL_ALERT_USD',
          show: 'number',
          unit: 'short',
          redFrom: 1,
          queries: [
            { expr: `sum(increase(tallygate_suspect_calls_total${RANGE})) or vector(0)`, legend: 'suspect' },
          ],
        },
      ],
    },
    {
      title: 'Cost',
      panels: [
        {
          title: 'Cost an hour, by model',
          show: 'lines',
          unit: 'currencyUSD',
          queries: [
            {
              expr: `topk(10, sum by (model) (rate(tallygate_cost_usd_total${RATE}))) * 3600`,
              legend: '{{model}}',
            },
          ],
        },
        {
          title: 'Cost an hour, by provider',
          show: 'lines',
          unit: 'currencyUSD',
          queries: [
            {
              expr: `sum by (provider) (rate(tallygate_cost_usd_total${RATE})) * 3600`,
              legend: '{{provider}}',
            },
          ],
        },
        {
          title: 'Cost by model',
          show: 'bars',
          unit: 'currencyUSD',
          queries: [
            {
              expr: `topk(20, sum by (provider, model) (increase(tallygate_cost_usd_total${RANGE})))`,
              legend: '{{provider}} {{model}}',
            },
          ],
        },
        {
          title: 'Budgets, part that is spent',
          show: 'bars',
          unit: 'percentunit',
          redFrom: 0.9,
          help: 'The ten of which most is spent.',
          queries: [
            {
              expr: 'max by (limit, per, client) (tallygate_budget_used_ratio)',
              legend: '{{client}} {{limit}} {{per}}',
            },
          ],
        },
        {
          title: 'Cost by client',
          show: 'bars',
          unit: 'currencyUSD',
          help: 'METRICS_CLIENTS of them are named; nothing is here while it is 0.',
          queries: [
            {
              expr: `topk(20, sum by (client) (increase(tallygate_client_cost_usd_total${RANGE})))`,
              legend: '{{client}}',
            },
          ],
        },
        {
          title: 'Calls by client',
          show: 'bars',
          unit: 'short',
          help: 'METRICS_CLIENTS of them are named; nothing is here while it is 0.',
          queries: [
            {
              expr: `topk(20, sum by (client) (increase(tallygate_client_calls_total${RANGE})))`,
              legend: '{{client}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Use',
      panels: [
        {
          title: 'Tokens a second, by class',
          show: 'lines',
          unit: 'short',
          queries: [{ expr: `sum by (class) (rate(tallygate_tokens_total${RATE}))`, legend: '{{class}}' }],
        },
        {
          title: 'Tokens a second, by model',
          show: 'lines',
          unit: 'short',
          queries: [
            {
              expr: `topk(10, sum by (model) (rate(tallygate_tokens_total{class=~"input|output"}${RATE})))`,
              legend: '{{model}}',
            },
          ],
        },
        {
          title: 'Calls by upstream',
          show: 'lines',
          unit: 'reqps',
          queries: [
            {
              expr: `sum by (provider, upstream) (rate(tallygate_calls_total${RATE}))`,
              legend: '{{provider}} {{upstream}}',
            },
          ],
        },
      ],
    },
    {
      title: 'How sure',
      panels: [
        {
          title: 'Where token counts come from',
          show: 'lines',
          unit: 'percentunit',
          queries: [
            {
              expr: `sum by (usage_source) (rate(tallygate_calls_total${RATE})) / ignoring (usage_source) group_left () sum(rate(tallygate_calls_total${RATE}))`,
              legend: '{{usage_source}}',
            },
          ],
        },
        {
          title: 'Calls without a cost, by reason',
          show: 'lines',
          unit: 'short',
          queries: [
            {
              expr: `sum by (model, reason) (increase(tallygate_unpriced_calls_total${RATE}))`,
              legend: '{{model}} {{reason}}',
            },
          ],
        },
        {
          title: 'Doubts',
          show: 'lines',
          unit: 'short',
          queries: [
            {
              expr: `sum(increase(tallygate_partly_unpriced_calls_total${RATE})) or vector(0)`,
              legend: 'partly unpriced',
            },
            {
              expr: `sum(increase(tallygate_cost_differences_total${RATE})) or vector(0)`,
              legend: 'cost differs',
            },
            {
              expr: `sum(increase(tallygate_reading_failures_total${RATE})) or vector(0)`,
              legend: 'unread answers',
            },
            {
              expr: `sum(increase(tallygate_total_mismatches_total${RATE})) or vector(0)`,
              legend: 'totals that do not add up',
            },
          ],
        },
      ],
    },
  ],
}
