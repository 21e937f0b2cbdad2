import type { Command } from 'commander'
import { type Finding, renderFindings } from '../../doctor/finding.ts'
import { runChecks } from '../../doctor/run-checks.ts'
import type { Cli } from '../cli.ts'
import { findOwnConfiguration } from '../own-prices.ts'
import { printable } from '../table.ts'

/**
 * `doctor`: what is reachable and what is wrong, one line each with what to do. Exit code 1 when something is
 * wrong.
 */
export function addDoctorCommand(program: Command, cli: Cli): void {
  program
    .command('doctor')
    .description('see whether everything works, and what to do where it does not')
    .action(async () => {
      const findings = await cli.withServers(({ pool, locations }) =>
        runChecks({ pool, ...locations, ownPrices: (theirs) => findOwnConfiguration(cli.env, theirs) }),
      )
      const report = renderFindings(findings)
      cli.print(report, text(findings))
      if (!report.ok) cli.fail()
    })
}

const STATE_LABELS: Readonly<Record<Finding['state'], string>> = {
  ok: 'ok   ',
  note: 'note ',
  wrong: 'WRONG',
}

function text(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ name }) => name.length))
  return findings
    .map(({ name, state, detail, mend }) => {
      const advice = mend === null ? '' : ` -> ${mend}`
      return printable(`${STATE_LABELS[state]}  ${name.padEnd(width)}  ${detail}${advice}`)
    })
    .join('\n')
}
