import type { Command } from 'commander'
import { Failure } from '../../../operations/failure.ts'
import { acceptDoubts, renderDoubt } from '../../../pricing/refresh/accept-doubts.ts'
import { nameOf } from '../../../pricing/refresh/doubt-operations.ts'
import { type PriceDoubt, selectPriceDoubts } from '../../../pricing/refresh/price-doubts.ts'
import type { Cli } from '../../cli.ts'

/** `prices accept`: takes newer prices that wait for a person. */
export function addPricesDoubtsCommands(prices: Command, cli: Cli): void {
  prices
    .command('accept')
    .description('take newer prices that wait, for all gateways from the next UTC day on')
    .argument('[models...]', 'each as doubts names it: PROVIDER/MODEL')
    .option('--all', 'all that wait')
    .action(async (models: readonly string[], { all = false }: { readonly all?: boolean }) => {
      if (all === models.length > 0) throw new Failure('name models as prices doubts does, or say --all')
      const wanted = new Set(models)
      const isWanted = (doubt: PriceDoubt) => all || wanted.has(nameOf(doubt))
      const accepted = await cli.withServers(async ({ pool }) => {
        const known = new Set((await selectPriceDoubts(pool)).map(nameOf))
        const unknown = models.filter((model) => !known.has(model))
        if (unknown.length > 0) throw new Failure(`nothing is changed: ${unknown.join(', ')} does not wait`)
        return await acceptDoubts(pool, isWanted, Date.now())
      })
      if (accepted.kind === 'missing') throw new Failure('nothing is changed: no price waits')
      if (accepted.kind === 'overtaken') {
        throw new Failure('other prices were taken at the same time; look again at prices doubts')
      }
      if (accepted.kind === 'unreadable') {
        const named = accepted.doubts.map((doubt) => `${nameOf(doubt)} ${doubt.why}`).join('; ')
        throw new Failure(`nothing is changed: the source wrote it in a way that cannot be read: ${named}`)
      }
      const { doubts, from } = accepted
      cli.print(
        { accepted: doubts.map(renderDoubt), in_force_from: from },
        `${doubts.map(nameOf).join(', ')}: the newer price is in force from ${from} on. Gateways take it within a minute.`,
      )
    })
}
