import type { Command } from 'commander'
import type { Cli } from '../../cli.ts'
import { addLedgerGapsCommand, addLedgerStatusCommand } from './ledger-status.ts'
import { addLedgerRebuildCommand, addLedgerVerifyCommand } from './ledger-verify.ts'

/** `ledger verify | rebuild | status | gaps`: whether the totals are right, and how to correct them. */
export function addLedgerCommands(program: Command, cli: Cli): void {
  const ledger = program.command('ledger').description('whether what was counted is right')
  addLedgerStatusCommand(ledger, cli)
  addLedgerGapsCommand(ledger, cli)
  addLedgerVerifyCommand(ledger, cli)
  addLedgerRebuildCommand(ledger, cli)
}
