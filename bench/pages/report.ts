import { headOf, tableOf, writeResults } from '../stand/results.ts'
import type { Testbed } from '../stand/testbed.ts'
import type { Filled } from '../usage/fill.ts'
import type { First, Interactions } from './browse.ts'
import type { Lists } from './lists.ts'
import type { Tab } from './open-tab.ts'

/** What the page has to hold. */
const BOUNDS = {
  firstMs: 1_500,
  requests: 6,
  firstBytes: 120_000,
  interactionP95Ms: 500,
  answerBytes: 30_000,
  postgresPercent: 2,
  tabBytesAMinute: 20_000,
  listMs: 100,
  listBytes: 30_000,
} as const

export interface PageFigures extends Interactions {
  readonly filled: Filled
  readonly first: readonly First[]
  readonly tab: Tab
}

interface Results {
  readonly testbed: Testbed
  readonly warnings: readonly string[]
  /** `null`: not measured. */
  readonly page: PageFigures | null
  readonly lists: Lists | null
}

interface Held {
  readonly what: string
  readonly found: number
  readonly bound: number
  readonly unit: string
}

/** Writes `pages.json` and `pages.md` into the folder, if there is one. `failed`: so many bounds are not held. */
export function writePages(folder: string | null, results: Results): { shown: string; failed: number } {
  const held = [...heldByPage(results.page), ...heldByLists(results.lists)]
  const shown = render(results, held)
  if (folder !== null) writeResults(folder, 'pages', `${shown}\n`, results)
  return { shown, failed: held.filter(isBroken).length }
}

function isBroken({ found, bound }: Held): boolean {
  return !(found <= bound)
}

function heldByPage(page: PageFigures | null): readonly Held[] {
  if (page === null) return []
  const { first, p95Ms, largest, tab } = page
  const most = (of: (one: First) => number) => Math.max(...first.map(of))
  const row = (what: string, found: number, bound: number, unit: string) => ({ what, found, bound, unit })
  return [
    row(
      `cold browser to totals, chart and table, the slowest of ${first.length}`,
      most(({ formMs, figuresMs }) => formMs + figuresMs),
      BOUNDS.firstMs,
      'ms',
    ),
    row(
      'requests that were begun until then',
      most(({ requests }) => requests),
      BOUNDS.requests,
      '',
    ),
    row(
      'over the wire until then',
      most(({ bytes }) => bytes),
      BOUNDS.firstBytes,
      'bytes',
    ),
    row('an interaction, p95', p95Ms, BOUNDS.interactionP95Ms, 'ms'),
    row('the largest answer over the wire', largest.bytes, BOUNDS.answerBytes, 'bytes'),
    row(
      'PostgreSQL for an open tab under load',
      tab.underLoad.postgresPercent,
      BOUNDS.postgresPercent,
      '% of a core',
    ),
    row('an open tab when nothing changes', tab.quiet.bytesAMinute, BOUNDS.tabBytesAMinute, 'bytes a minute'),
  ]
}

function heldByLists(lists: Lists | null): readonly Held[] {
  if (lists === null) return []
  return [
    {
      what: 'budgets nearest their end that are not first',
      found: lists.isNearestFirst ? 0 : 1,
      bound: 0,
      unit: '',
    },
    ...lists.lists.flatMap(({ query, ms, bytes }) => [
      { what: `\`${query}\`, the slowest`, found: ms, bound: BOUNDS.listMs, unit: 'ms' },
      { what: `\`${query}\``, found: bytes, bound: BOUNDS.listBytes, unit: 'bytes' },
    ]),
  ]
}

function render({ testbed, warnings, page, lists }: Results, held: readonly Held[]): string {
  return [
    ...headOf(
      "What the operator's page costs",
      ['Written by `npm run bench:pages`, in a real Chromium.'],
      testbed,
      {
        warnings,
        more: [
          ...(page === null
            ? []
            : [
                `${page.filled.rows} rows of daily_usage: ${page.filled.clients} clients; ${page.filled.calls} calls`,
              ]),
          ...(lists === null
            ? []
            : [`lists: ${lists.clients} clients, ${lists.keys} keys, ${lists.limits} limits`]),
        ],
      },
    ),
    ...tableOf(
      ['', 'found', 'at most', '', ''],
      held.map((one) => [
        one.what,
        one.found.toFixed(one.unit.startsWith('%') ? 2 : 0),
        one.bound,
        one.unit,
        isBroken(one) ? '**not held**' : '',
      ]),
    ),
    ...(lists === null ? [] : renderFirst(lists)),
    ...(page === null ? [] : renderPage(page)),
  ].join('\n')
}

function renderFirst({ lists }: Lists): readonly string[] {
  return [
    '',
    '## The first request of each list, which has no bound',
    '',
    ...tableOf(
      ['', 'ms'],
      lists.map(({ query, firstMs }) => [`\`${query}\``, firstMs.toFixed(0)]),
    ),
  ]
}

function renderPage({ first, interactions, tab, largest }: PageFigures): readonly string[] {
  return [
    '',
    '## From a cold browser to the first figures',
    '',
    ...tableOf(
      ['', 'sign-in, ms', 'figures, ms', 'requests', 'bytes'],
      first.map(({ formMs, figuresMs, requests, bytes }, index) => [
        `${index + 1}`,
        formMs.toFixed(0),
        figuresMs.toFixed(0),
        requests,
        bytes,
      ]),
    ),
    '',
    `## Interactions; the largest answer was \`${largest.url.replace(/^.*\/admin\/v1\//, '')}\``,
    '',
    ...tableOf(
      ['', 'ms'],
      interactions.map(({ name, ms }) => [name, ms.toFixed(0)]),
    ),
    '',
    '## An open tab',
    '',
    ...tableOf(
      ['', 'PostgreSQL, % of a core', 'bytes a minute', 'requests a minute'],
      Object.entries(tab).map(([state, { postgresPercent, bytesAMinute, requestsAMinute }]) => [
        state === 'quiet' ? 'nothing changes' : 'calls are counted',
        postgresPercent.toFixed(2),
        bytesAMinute.toFixed(0),
        requestsAMinute.toFixed(1),
      ]),
    ),
  ]
}
