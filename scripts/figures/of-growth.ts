import { costOfCall, costOfEvent } from './of-overhead.ts'
import { medianOf, rangeOf, readResults, readTable, renderTable, rounded, wrapped } from './tables.ts'

const CLIENTS = ['10 × 3', '1000 × 3']
const SCALES = [1, 2, 4]
const SECONDS_A_DAY = 86_400
/** How busy a part is to be at most. */
const BUSY = 0.6
/** Of a call in `calls`, and for how long by default. */
const CALL_BYTES = 310
const RETENTION_DAYS = 35
const EVENTS = 300

/** Medians of a case of the roll-up. */
function rollUp(scale: number, clients: string, title: string): number {
  const cases = readTable('rollup').filter(
    ({ of, cells }) => of === `${scale} × ${scale}` && cells.get('clients × models') === clients,
  )
  return medianOf(cases.map(({ cells }) => Number.parseFloat(cells.get(title) ?? '')))
}

/** What more workers and shards carry. */
export function renderRollUp(): string[] {
  const of = (clients: string, title: string) => SCALES.map((scale) => rollUp(scale, clients, title))
  const rate = CLIENTS.map((clients) => of(clients, 'entries/s').map((entries) => rounded(entries)))
  const us = (title: string) => CLIENTS.map((clients) => of(clients, title).map((one) => one.toFixed(0)))
  const [worker, postgres, wal] = [
    us('worker (main thread), µs/entry'),
    us('Postgres (backends), µs/entry'),
    us('WAL, B/entry'),
  ]
  return CLIENTS.flatMap((clients, at) => [
    ...(at === 0 ? [] : ['']),
    ...renderTable(
      [
        `${rounded(Number.parseInt(clients, 10))} clients: workers and shards`,
        'entries a second',
        'worker, µs',
        'PostgreSQL, µs',
        'WAL, bytes',
      ],
      SCALES.map((scale, row) => [
        `${scale}`,
        ...[rate, worker, postgres, wal].map((figures) => figures?.[at]?.[row] ?? ''),
      ]),
    ),
  ])
}

/** How many of each part a load needs: products of the figures. */
export function renderSizing(): string[] {
  const { gateway, worker, postgres } = costOfCall()
  const { near, apart } = costOfEvent()
  const wal = CLIENTS.map((clients) => rollUp(1, clients, 'WAL, B/entry'))
  const processes = (rate: number, us: number) => Math.max(1, Math.ceil((rate * us) / 1e6 / BUSY))
  return renderTable(
    [
      'calls a second',
      'gateways',
      '300 events each',
      'workers',
      'Postgres cores',
      'connections',
      'WAL a day',
      '`calls`',
    ],
    [1, 100, 1_000, 10_000, 50_000].map((rate) => {
      const [gateways, workers] = [processes(rate, gateway), processes(rate, worker)]
      const streaming = [near, apart].map((us) => processes(rate * EVENTS, us))
      return [
        rate.toLocaleString('en-US'),
        gateways.toLocaleString('en-US'),
        [...new Set(streaming)].map((count) => count.toLocaleString('en-US')).join(' to '),
        `${workers}`,
        `${processes(rate, postgres)}`,
        `${8 * gateways + 10 * workers + 6 + 3}`,
        bytesRange(wal.map((bytes) => bytes * rate * SECONDS_A_DAY)),
        bytes(rate * SECONDS_A_DAY * RETENTION_DAYS * CALL_BYTES),
      ]
    }),
  )
}

/** A billion calls a day, with peaks of four times the average. */
export function renderBillion(): string[] {
  const average = 1e9 / SECONDS_A_DAY
  const peak = 4 * average
  const { gateway, worker, redis, postgres } = costOfCall()
  const cores = (us: number) => (peak * us) / 1e6
  const shown = (us: number) => `${rounded(peak, 2)} × ${us.toFixed(0)} µs = ${rounded(cores(us), 2)}`
  const needed = (us: number) => Math.ceil(cores(us) / BUSY)
  return [
    `- Gateways: ${shown(gateway)} cores, ${needed(gateway)} processes at 60 %.`,
    `- Workers: ${shown(worker)} cores, ${needed(worker)} workers and shards at 60 %.`,
    `- Redis: ${shown(redis)} of its one thread.`,
    `- PostgreSQL: ${shown(postgres)} cores for few clients.`,
  ]
}

/** Cells for loads that are too many for one thread of Redis, and what each then has, with many clients. */
export function renderCells(): string[] {
  const most = (BUSY * 1e6) / costOfCall().redis
  const dearest = (title: string) => Math.max(...CLIENTS.map((clients) => rollUp(4, clients, title)))
  const worker = dearest('worker (main thread), µs/entry')
  const postgres = dearest('Postgres (backends), µs/entry')
  const wal = dearest('WAL, B/entry')
  const cores = (rate: number, us: number) => `${Math.ceil((rate * us) / 1e6 / BUSY)}`
  return renderTable(
    ['calls a second', 'cells', 'of one cell', 'workers', 'Postgres cores', 'WAL, MB a second', 'WAL a day'],
    [25_000, 50_000, 100_000, 500_000].map((rate) => {
      const cells = Math.ceil(rate / most)
      const each = rate / cells
      return [
        rate.toLocaleString('en-US'),
        `${cells}`,
        rounded(each),
        cores(each, worker),
        cores(each, postgres),
        rounded((each * wal) / 1e6, 2),
        bytes(each * wal * SECONDS_A_DAY),
      ]
    }),
  )
}

const GROUPS: readonly (readonly [title: string, queries: readonly string[]])[] = [
  ['one client: by nothing, day, model, key', ['', 'day', 'model', 'key'].map((by) => clientQuery(by))],
  ['one client: by day and model', [clientQuery('day,model')]],
  ['all: by nothing, day, model, both', ['', 'day', 'model', 'day,model'].map((by) => operatorQuery(by))],
  ['all: by client', [operatorQuery('client')]],
  ['all: by client and model', [operatorQuery('client,model')]],
  ['all: by client and key', [operatorQuery('client,key')]],
  ['`unpriced`', ['`unpriced?days=DAYS`']],
]

/** What queries about usage cost, of the newest month and of a year. */
export function renderQueries(): string[] {
  const rows = ['`GET /v1/usage`', 'The operator'].flatMap((heading) => readTable('usage', heading))
  const figure = (query: string, days: number, title: string) => {
    const row = rows.find(({ name }) => name === query.replace('DAYS', `${days}`))
    if (row === undefined) throw new Error(`bench/results/usage.md has no ${query}`)
    return Number(row.cells.get(title))
  }
  return renderTable(
    ['query', '30 days: CPU, ms', 'p50', 'p99', '365 days: CPU, ms', 'p50', 'p99'],
    GROUPS.map(([title, queries]) => [
      title,
      ...[30, 365].flatMap((days) =>
        ['PostgreSQL CPU ms', 'p50 ms', 'p99 ms'].map((column) =>
          rangeOf(
            queries.map((query) => figure(query, days, column)),
            0,
          ),
        ),
      ),
    ]),
  )
}

function clientQuery(by: string): string {
  return `\`/v1/usage?days=DAYS${by === '' ? '' : `&group_by=${by}`}\``
}

function operatorQuery(by: string): string {
  return `\`usage?days=DAYS${by === '' ? '' : `&by=${by}`}\``
}

/** The year as CSV. */
export function renderExport(): string[] {
  const [, rows = '', seconds = '', rate = '', command = '', postgres = ''] =
    /^(\d+) rows, \d+ MB in (\d+) s: (\d+) rows\/s; ([\d.]+) us .*?, ([\d.]+) us/m.exec(
      readResults('usage'),
    ) ?? []
  return wrapped(
    `The year as CSV, ${Number(rows).toLocaleString('en-US')} rows, left in ${seconds} s: ` +
      `${Number(rate).toLocaleString('en-US')} rows a second; ${command} µs a row in the command, ${postgres} µs in ` +
      'PostgreSQL, side by side.',
  )
}

const GROWING: readonly (readonly [what: string, rows: RegExp, unit: string])[] = [
  ['private memory of a process, MB', /^(gateway|worker|Redis|PostgreSQL).*: private memory/, 'MB'],
  ['Redis: used memory, MB', /^Redis: used_memory/, 'MB'],
  ['journals on disk, MB', /^journals on disk/, 'MB'],
  ['`daily_usage`, MB', /^daily_usage, MB/, 'MB'],
  ['database without calls and totals, MB', /^database without/, 'MB'],
]

/** What grew in an hour of calls. */
export function renderSoak(): string[] {
  const rows = readTable('soak')
  const [, reached = '', counted = '', lost = '', doubled = ''] =
    /^- (\d+) calls reached the upstream, (\d+) requests were counted: lost (\d+), doubled (\d+)/m.exec(
      readResults('soak'),
    ) ?? []
  const number = (text: string) => Number(text).toLocaleString('en-US')
  return [
    ...wrapped(
      `${number(reached)} calls reached the upstream and ${number(counted)} were counted: ${number(lost)} lost, ` +
        `${number(doubled)} doubled.`,
    ),
    '',
    ...renderTable(
      ['an hour of calls', 'growth an hour', 'allowed'],
      GROWING.map(([what, name]) => {
        const found = rows.filter((row) => name.test(row.name))
        const numbers = (title: string) => found.map(({ cells }) => Number.parseFloat(cells.get(title) ?? ''))
        return [what, rangeOf(numbers('growth an hour'), 1), rangeOf(numbers('allowed'), 0)]
      }),
    ),
  ]
}

/** What priced calls came to beside three price lists. */
export function renderPrices(): string[] {
  const text = readResults('prices')
  const [asked = ''] = /\d+ calls through a gateway/.exec(text) ?? []
  const [agreed = ''] = /^Of what three lists agree on .*$/m.exec(text) ?? []
  return wrapped(`${asked}. ${agreed}`)
}

function bytesRange(sizes: readonly number[]): string {
  const [low = '', high = ''] = [Math.min(...sizes), Math.max(...sizes)].map(bytes)
  const unit = high.slice(high.indexOf(' '))
  return low === high
    ? high
    : low.endsWith(unit)
      ? `${low.slice(0, -unit.length)} to ${high}`
      : `${low} to ${high}`
}

function bytes(size: number): string {
  const [unit, by] = size >= 0.5e12 ? ['TB', 1e12] : size >= 0.5e9 ? ['GB', 1e9] : ['MB', 1e6]
  return `${rounded(size / by, 2)} ${unit}`
}
