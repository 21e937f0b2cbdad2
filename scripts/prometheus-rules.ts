import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { renderRuleList, renderRules } from '../src/doctor/prometheus-rules.ts'

/** Writes the rules for Prometheus, and their list in the documentation: `npm run rules`. */
mkdirSync('deploy/prometheus', { recursive: true })
writeFileSync('deploy/prometheus/rules.yml', renderRules())
const page = 'docs/operations.md'
const text = readFileSync(page, 'utf8')
const list = /(<!-- rules: npm run rules -->\n\n)[\s\S]*?(\n\n<!-- end of rules -->)/
writeFileSync(
  page,
  text.replace(list, (_, begin, end) => `${begin}${renderRuleList()}${end}`),
)
