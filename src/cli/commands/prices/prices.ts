import type { Command } from 'commander'
import type { Cli } from '../../cli.ts'
import { addPricesCheckCommand } from './prices-check.ts'
import { addPricesDoubtsCommands } from './prices-doubts.ts'
import { addPricesImportCommand } from './prices-import.ts'
import { addPricesRepriceCommand } from './prices-reprice.ts'
import { addPricesShowCommand } from './prices-show.ts'
import { addPricesUpdateCommands } from './prices-update.ts'

/** `prices show | check | reprice | ...`: the prices of calls, and correcting their cost. */
export function addPricesCommands(program: Command, cli: Cli): void {
  const prices = program.command('prices').description('what calls cost, and why')
  addPricesShowCommand(prices, cli)
  addPricesCheckCommand(prices, cli)
  addPricesRepriceCommand(prices, cli)
  addPricesUpdateCommands(prices, cli)
  addPricesImportCommand(prices, cli)
  addPricesDoubtsCommands(prices, cli)
}
