import type { Command } from 'commander'
import type { Cli } from '../../cli.ts'
import { addLedgerRebuildCommand, addLedgerVerifyCommand } from './ledger-verify.ts'

/** `ledger verify | rebuild | status | gaps`: whether the totals are right, and how to correct them. */
export function addLedgerCommands(program: Command, cli: Cli): void {
  const ledger = program.command('ledger').description('whether what was counted is right')
  addLedgerVerifyCommand(ledger, cli)
  addLedgerRebuildCommand(ledger, cli)
}
