import type { Rule } from '../domain/conditions/condition.ts'
import { CONDITIONS } from './conditions.ts'

/** A gateway that does not answer says nothing of itself. */
const UNREACHABLE: Rule = {
  name: 'GatewayUnreachable',
  expr: 'up{job="tallygate"} == 0',
  for: '1m',
  severity: 'page',
  summary: 'A gateway answers no scrape: it is gone, or one of its processes does not answer for 5 s.',
}

const RULES: readonly Rule[] = [UNREACHABLE, ...CONDITIONS.flatMap(({ rules }) => rules ?? [])]

/** deploy/prometheus/rules.yml. */
export function renderRules(): string {
  const rules = RULES.map(({ name, expr, for: holds, severity, summary }) =>
    [
      `      - alert: Tallygate${name}`,
      `        expr: ${JSON.stringify(expr)}`,
      ...(holds === undefined ? [] : [`        for: ${holds}`]),
      `        labels: { severity: ${severity} }`,
      `        annotations: { summary: ${JSON.stringify(summary)} }`,
    ].join('\n'),
  )
  return [
    '# Made of what the chapters of the source declare: npm run rules writes it again.',
    'groups:',
    '  - name: tallygate',
    '    rules:',
    ...rules,
    '',
  ].join('\n')
}

const WIDTH = 110

/** The same as a list of Markdown, for docs/operations.md. */
export function renderRuleList(): string {
  return RULES.map(({ expr, summary }) => wrapped(`- \`${expr}\`: ${summary}`)).join('\n')
}

/** An item of a list. Lines after the first are indented. What is between backticks stays on one line. */
export function wrapped(item: string): string {
  const lines: string[] = []
  let line = ''
  for (const word of item.match(/(?:`[^`]*`|[^\s`])+/g) ?? []) {
    if (line !== '' && `${line} ${word}`.length > WIDTH) {
      lines.push(line)
      line = `  ${word}`
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...lines, line].join('\n')
}
