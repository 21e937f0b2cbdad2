import { globSync, readFileSync } from 'node:fs'
import { parser } from '@prometheus-io/lezer-promql'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { DASHBOARDS, readGolden, renderFiles } from '../../scripts/watch/rendered-files.ts'
import { ALERTS, CONDITIONS } from '../../src/doctor/conditions.ts'
import { renderRules } from '../../src/doctor/prometheus-rules.ts'
import { LOG_EVENTS } from '../../src/lib/log-events.ts'

/** The series of a golden file: a histogram has three. */
function seriesOf(golden: string): readonly string[] {
  return [...golden.matchAll(/^(\w+) (\w+) \{/gm)].flatMap(([, name = '', type]) =>
    type === 'histogram' ? ['bucket', 'sum', 'count'].map((part) => `${name}_${part}`) : name,
  )
}

const SERIES = new Set([
  ...seriesOf(readGolden('gateway')),
  ...seriesOf(readGolden('worker')),
  // Prometheus's own, and those of Node and of processes, which are prom-client's.
  ...[
    'up',
    'ALERTS',
    'process_cpu_seconds_total',
    'process_resident_memory_bytes',
    'nodejs_eventloop_lag_p99_seconds',
  ],
])

/** The names of series that a query reads. Fails where it cannot be parsed. */
function seriesIn(expr: string, where: string): readonly string[] {
  const query = expr.replaceAll('$__rate_interval', '5m').replaceAll('$__range', '1h')
  const names: string[] = []
  parser.parse(query).iterate({
    enter({ type, name, from, to }) {
      expect(type.isError, `${where} at ${from}: ${query}`).toBe(false)
      if (name === 'Identifier' && !query.slice(0, from).match(/"$/)) names.push(query.slice(from, to))
    },
  })
  return names
}

test('rules, dashboards and their lists in the documentation are those that the source declares', () => {
  for (const [file, text] of renderFiles())
    expect(readFileSync(file, 'utf8'), `${file}: npm run rules`).toBe(text)
})

test('every rule reads a metric that there is, has a name of its own, and says what to do', () => {
  const { groups } = parse(renderRules())
  const rules: { alert: string; expr: string; annotations: { summary: string } }[] = groups[0].rules
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length)
  for (const { alert, expr, annotations } of rules) {
    expect(annotations.summary, alert).toMatch(/\.$/)
    const names = seriesIn(expr, alert)
    expect(names.length, alert).toBeGreaterThan(0)
    for (const name of names) expect(SERIES, alert).toContain(name)
  }
})

test('every query of a dashboard can be parsed, and reads metrics that there are', () => {
  const panels = DASHBOARDS.flatMap(({ rows }) => rows).flatMap((row) => row.panels)
  expect(panels.length).toBeGreaterThan(40)
  for (const { title, queries } of panels) {
    for (const { expr } of queries) {
      const names = seriesIn(expr, title)
      expect(names.length, title).toBeGreaterThan(0)
      for (const name of names) expect(SERIES, title).toContain(name)
    }
  }
})

test('docs/alerts.md says when each kind of alert is sent, and what it has in it', () => {
  const page = readFileSync('docs/alerts.md', 'utf8')
  const listed = [...page.matchAll(/^- ((?:`\w+`(?:, )?)+): /gm)].map(([, names = '']) => names)
  for (const { kind } of ALERTS)
    expect(listed.filter((names) => names.includes(`\`${kind}\``)).length, kind).toBeGreaterThan(0)
})

test('no two conditions, and no two alerts, have one name; events are those of the log', () => {
  for (const names of [CONDITIONS.map(({ name }) => name), ALERTS.map(({ kind }) => kind)])
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
  const events = CONDITIONS.flatMap(({ event }) => event ?? [])
  expect(events.filter((event) => !(event in LOG_EVENTS))).toEqual([])
})

// Else it is declared, can be asked for, and never heard of.
test('every condition shows somewhere, and a worker raises each alert that a job raises', () => {
  const hidden = CONDITIONS.filter(
    ({ find, alert, readiness, gauges, rules, failsWorker }) =>
      ![find, alert, readiness, gauges, rules, failsWorker].some((one) => one !== undefined),
  )
  expect(hidden.map(({ name }) => name)).toEqual([])
  const workers = globSync('workers/**/*.ts').map((file) => readFileSync(file, 'utf8'))
  const silent = ALERTS.flatMap((alert) =>
    'raisedBy' in alert && !workers.some((text) => text.includes(`raise('${alert.kind}'`))
      ? [`no worker calls raise('${alert.kind}', ...), as ${alert.raisedBy} should`]
      : [],
  )
  expect(silent).toEqual([])
})
