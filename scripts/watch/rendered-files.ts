import { readFileSync } from 'node:fs'
import { renderRuleList, renderRules, wrapped } from '../../src/doctor/prometheus-rules.ts'
import { LOG_EVENTS } from '../../src/lib/log-events.ts'
import { renderDashboard } from './dashboard.ts'
import { OPERATIONS_DASHBOARD } from './operations-dashboard.ts'
import { USAGE_DASHBOARD } from './usage-dashboard.ts'

export const DASHBOARDS = [OPERATIONS_DASHBOARD, USAGE_DASHBOARD]

/** What a gateway and a worker show, as their golden files have it: `name type {labels}`, then its meaning. */
export function readGolden(of: 'gateway' | 'worker'): string {
  return readFileSync(`test/golden/metrics.${of}.golden.txt`, 'utf8')
}

/** The metrics of a golden file as a list of Markdown. */
function metricList(of: 'gateway' | 'worker'): string {
  const families = readGolden(of).matchAll(/^(\w+) (\w+) \{(.*)\}\n {2}(.*)$/gm)
  const items = [...families].map(([, name, type, labels = '', help = '']) => {
    const by = labels.split(',').filter((label) => label !== '' && label !== 'le')
    return wrapped(`- \`${name}\` (${type}${by.length === 0 ? '' : ` by ${by.join(', ')}`}): ${help}`)
  })
  return items.join('\n')
}

const EVENTS = Object.entries(LOG_EVENTS)
  .map(([code, meaning]) => wrapped(`- \`${code}\`: ${meaning}`))
  .join('\n')

/** The page with these blocks written again. */
function withBlocks(page: string, blocks: Readonly<Record<string, string>>): string {
  let text = readFileSync(page, 'utf8')
  for (const [name, block] of Object.entries(blocks)) {
    const form = new RegExp(`(<!-- ${name}: npm run rules -->\n\n)[\\s\\S]*?(\n\n<!-- end of ${name} -->)`)
    if (!form.test(text)) throw new Error(`${page} has no block ${name}`)
    text = text.replace(form, (_, begin, end) => `${begin}${block}${end}`)
  }
  return text
}

/** Every file that is made of what the source declares, with its text. */
export function renderFiles(): ReadonlyMap<string, string> {
  return new Map([
    ['deploy/prometheus/rules.yml', renderRules()],
    ['deploy/grafana/operations.json', renderDashboard(OPERATIONS_DASHBOARD)],
    ['deploy/grafana/usage.json', renderDashboard(USAGE_DASHBOARD)],
    ['docs/operations.md', withBlocks('docs/operations.md', { rules: renderRuleList() })],
    [
      'docs/observability.md',
      withBlocks('docs/observability.md', {
        'metrics of gateways': metricList('gateway'),
        'metrics of workers': metricList('worker'),
        'log events': EVENTS,
      }),
    ],
  ])
}
