import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { ALERTS, CONDITIONS } from '../../src/doctor/conditions.ts'
import { renderRuleList, renderRules } from '../../src/doctor/prometheus-rules.ts'
import { LOG_EVENTS } from '../../src/lib/log-events.ts'

const GOLDEN = readFileSync('test/golden/metrics.golden.txt', 'utf8')
const METRICS = new Set([...GOLDEN.matchAll(/^(tallygate_\w+) /gm)].map(([, name]) => name))

test('the rules for Prometheus and their list in the documentation are those that chapters declare', () => {
  expect(readFileSync('deploy/prometheus/rules.yml', 'utf8'), 'npm run rules').toBe(renderRules())
  expect(readFileSync('docs/operations.md', 'utf8'), 'npm run rules').toContain(renderRuleList())
})

test('every rule reads a metric that there is, has a name of its own, and says what to do', () => {
  const { groups } = parse(renderRules())
  const rules: { alert: string; expr: string; annotations: { summary: string } }[] = groups[0].rules
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length)
  for (const { alert, expr, annotations } of rules) {
    expect(annotations.summary, alert).toMatch(/\.$/)
    for (const [name] of expr.matchAll(/tallygate_\w+/g)) expect(METRICS, alert).toContain(name)
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
