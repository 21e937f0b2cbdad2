import {
  type Figure,
  figureIn,
  hasTable,
  rangeOf,
  readTable,
  renderTable,
  rounded,
  wrapped,
} from './tables.ts'

const OWN = 'tallygate'
const BARE = 'bare'
const CPU = 'CPU of the proxy, µs'
const CONNECTIONS = [1, 4, 32, 256]
const SIZES = [1, 64]
const EVENTS = 'Events of open streams'
const STREAMS = ['30 events, paced', '1000 events, paced', '30 events in bursts', '1000 events in bursts']

const json = () => readTable('overhead', 'JSON answers')
const streams = () => readTable('overhead', 'Streams:')
const openStreams = () => readTable('overhead', 'Streams open')

/** Microseconds of CPU of each part for a JSON answer of 1 KB, at 32 connections. */
export function costOfCall(connections = 32) {
  const of = (title: string) => figureIn(json(), `1 KB, ${cellOf(connections)} (`, OWN, title).median
  return {
    gateway: of(CPU),
    worker: of('worker, µs'),
    redis: of('Redis, µs'),
    postgres: of('PostgreSQL, µs'),
  }
}

/** Microseconds of the gateway's CPU for an event of a long stream: by itself 2 ms apart, and 250 ms apart. */
export function costOfEvent(): { readonly near: number; readonly apart: number } {
  const paced = wires().map(
    (wire) => figureIn(streams(), `${wire}, 1000 events, paced`, OWN, 'an event, µs').median,
  )
  const apart = openStreams().filter(({ of }) => of === OWN)
  return {
    near: Math.min(...paced),
    apart: Math.max(
      ...apart.map(({ name }) => figureIn(openStreams(), name, OWN, 'CPU an event, µs').median),
    ),
  }
}

/** Which part takes what of a call, and what a core of it carries. */
export function renderParts(): string[] {
  const { gateway, worker, redis, postgres } = costOfCall()
  const parts = [
    ['gateway', gateway],
    ['worker', worker],
    ['Redis', redis],
    ['PostgreSQL', postgres],
  ] as const
  return renderTable(
    ['part', 'CPU, µs a call', 'one core carries, calls a second'],
    parts.map(([part, us]) => [part, us.toFixed(0), rounded(1e6 / us)]),
  )
}

/** The same with fewer and more connections. */
export function renderConnections(): string[] {
  return renderTable(
    ['connections', 'gateway, µs a call', 'worker', 'Redis', 'PostgreSQL'],
    CONNECTIONS.map((connections) => {
      const { gateway, worker, redis, postgres } = costOfCall(connections)
      return [`${connections}`, ...[gateway, worker, redis, postgres].map((us) => us.toFixed(0))]
    }),
  )
}

/** JSON answers beside the bare library. */
export function renderJson(): string[] {
  return renderTable(
    ['answer, connections', 'bare, µs a call', 'tallygate', 'of bare', 'calls a second, of bare'],
    SIZES.flatMap((size) =>
      CONNECTIONS.map((connections) => {
        const name = `${size} KB, ${cellOf(connections)} (`
        const own = (title: string) => figureIn(json(), name, OWN, title)
        return [
          `${size} KB, ${connections}`,
          figureIn(json(), name, BARE, CPU).median.toFixed(0),
          own(CPU).median.toFixed(0),
          spread(own('of bare')),
          spread(callsOfBare(size, connections)),
        ]
      }),
    ),
  )
}

/** Streams of every wire format beside the bare library: from the lowest of their medians to the highest. */
export function renderStreams(): string[] {
  return renderTable(
    ['stream', 'of bare', 'gateway, ms a stream', 'µs an event'],
    STREAMS.map((kind) => {
      const all = (title: string) =>
        wires().map((wire) => figureIn(streams(), `${wire}, ${kind}`, OWN, title).median)
      return [
        kind,
        rangeOf(all('of bare'), 2),
        rangeOf(
          all('CPU of the proxy a stream, µs').map((us) => us / 1000),
          1,
        ),
        rangeOf(all('an event, µs'), 0),
      ]
    }),
  )
}

/** One more event on each wire, beside the floors. */
export function renderEvents(): string[] {
  if (!hasTable('overhead', EVENTS)) return wrapped('No whole run has these figures yet.')
  const rows = readTable('overhead', EVENTS)
  const names = [...new Set(rows.map(({ name }) => name))]
  return renderTable(
    ['wire', 'relay, µs an event', 'nginx', 'tallygate', 'of the relay'],
    names.map((name) => [
      name.replace(/ \(.*/, ''),
      ...['relay', 'nginx', OWN].map((of) => figureIn(rows, name, of, 'an event, µs').median.toFixed(1)),
      spread(figureIn(rows, name, OWN, 'of the relay')),
    ]),
  )
}

/** Events of many streams that are open at once. */
export function renderOpenStreams(): string[] {
  const rows = openStreams().filter(({ of }) => of === OWN)
  return renderTable(
    ['open at once', 'gap p99 added, ms', 'first byte p99 added, ms', 'queued', 'µs an event', 'RSS, MB'],
    rows.map(({ name }) => {
      const median = (title: string) => figureIn(openStreams(), name, OWN, title).median
      return [
        name.replace(/ \(.*/, ''),
        median('gap p99 added, ms').toFixed(1),
        median('first byte p99 added, ms').toFixed(1),
        median('queued').toFixed(0),
        median('CPU an event, µs').toFixed(0),
        median('RSS while open, MB').toFixed(0),
      ]
    }),
  )
}

/** Milliseconds that a proxy adds to the origin's answer. */
export function renderLatency(): string[] {
  const rows = readTable('overhead', 'Latency')
  const names = [...new Set(rows.map(({ name }) => name))]
  return renderTable(
    ['added to the origin, ms', 'bare p50', 'bare p99', 'tallygate p50', 'tallygate p99'],
    names.map((name) => [
      name.replace(/ \(.*/, ''),
      ...[BARE, OWN].flatMap((of) =>
        ['p50 added', 'p99 added'].map((title) => figureIn(rows, name, of, title).median.toFixed(1)),
      ),
    ]),
  )
}

/** Starts and memory. */
export function renderStart(): string[] {
  const rows = readTable('overhead', 'Start and memory')
  const ms = (of: string, title: string) => `${figureIn(rows, 'gateway', of, title).median.toFixed(0)} ms`
  const mb = (title: string) => `${figureIn(rows, 'gateway', 'compiled before', title).median.toFixed(0)} MB`
  const through = json()
    .filter(({ of }) => of === OWN)
    .flatMap(({ name }) =>
      ['RSS before, MB', 'RSS after, MB'].map((title) => figureIn(json(), name, OWN, title)),
    )
  return renderTable(
    ['start and memory', 'figure'],
    [
      ['ready after the start, nothing compiled', ms('nothing compiled', 'ready, ms')],
      ['compiled before', ms('compiled before', 'ready, ms')],
      ['after kill -9, with 10,000 records to adopt', ms('after kill -9', 'ready, ms')],
      ['until these are adopted', ms('after kill -9', 'adopted, ms')],
      ['RSS when idle', mb('RSS idle, MB')],
      ['PSS when idle: shared pages divided', mb('PSS idle, MB')],
      ['RSS after load', mb('RSS after load, MB')],
      [
        'RSS through all JSON answers',
        `${rangeOf(
          through.flatMap(({ lowest, highest }) => [lowest, highest]),
          0,
        )} MB`,
      ],
    ],
  )
}

/** What the README says. */
export function renderSummary(): string[] {
  const ofBare = (connections: number) =>
    spread(figureIn(json(), `1 KB, ${cellOf(connections)} (`, OWN, 'of bare'))
  const long = STREAMS.filter((kind) => kind.startsWith('1000')).flatMap((kind) =>
    wires().map((wire) => figureIn(streams(), `${wire}, ${kind}`, OWN, 'of bare').median),
  )
  return wrapped(
    `Speed: with 32 connections a metered call takes ${ofBare(32)} of the CPU that the bare proxy library takes for ` +
      `one unmetered, and with 4 it takes ${ofBare(4)}. An event of a long stream takes ${rangeOf(long, 2)}, by wire ` +
      'format and pace.',
  )
}

/** The wire formats that the gateway reads, in their order. */
function wires(): string[] {
  return [...new Set(streams().map(({ name }) => name.split(',')[0] ?? ''))]
}

function cellOf(connections: number): string {
  return `${connections} ${connections === 1 ? 'connection' : 'connections'}`
}

function callsOfBare(size: number, connections: number): Figure {
  return figureIn(json(), `${size} KB, ${cellOf(connections)} (`, OWN, 'calls a second, of bare')
}

function spread({ median, lowest, highest }: Figure): string {
  return `${median.toFixed(2)} (${lowest.toFixed(2)} to ${highest.toFixed(2)})`
}
