import type { z } from 'zod'
import { shownCount, shownDocument, shownList, shownText } from '../../operations/answers.ts'
import type { Ports } from '../../operations/ports.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { CatalogEntries } from '../catalog/catalog-entries.ts'
import { nameConfiguration, type PriceConfiguration } from '../price-configuration.ts'
import type { RepricingSettings } from '../repricing/repricing-scope.ts'
import type { ShownFrom } from '../shown-prices.ts'

/** What an operation prices by, and its origin. */
export interface PricesInForce {
  readonly config: ShownFrom & {
    /** All sources, merged, and the same as text. */
    readonly source: { readonly entries: CatalogEntries; readonly text: () => string }
    readonly settings: RepricingSettings
  }
  readonly configuration: PriceConfiguration
  /** The gateways with these prices; empty: the command's own configuration. */
  readonly gateways: readonly string[]
  /** Whether the line numbers of its entries refer to a file that the reader has. */
  readonly hasLines: boolean
}

export interface PricePorts extends Ports {
  /**
   * The prices of the running gateways, so that every surface says the same price.
   *
   * @param order `mustNamePrices`: what corrects money must not silently use other prices than the gateways.
   * @throws Where gateways do not price alike, and nothing decides.
   */
  findPrices(order?: { readonly mustNamePrices: boolean }): Promise<PricesInForce>
  /**
   * Those prices with some of one's own among them, written as in a configuration: one for the same calls stands in the
   * place of that one. Or why the text cannot be read.
   */
  addOwnPrices(config: PricesInForce['config'], text: string): Promise<Catalog | readonly string[]>
}

/** The origin of these prices, in one line. */
export function describePriceSource({ configuration, gateways }: PricesInForce): string {
  const whose = gateways.length === 0 ? 'the configuration of this command' : `gateway ${gateways.join(', ')}`
  return `Priced by ${whose}: ${nameConfiguration(configuration)}.`
}

export const PRICED_BY = shownDocument('PricedBy', {
  gateways: shownList(shownText('A gateway.'))
    .nullable()
    .describe('The gateways with these prices. null: the configuration of the command.'),
  configuration: shownText('The hash of what all of them price by.'),
  catalog: shownText('The price data and its version.'),
  prices: shownCount('Prices of their configuration.'),
  markups: shownCount('Markups of their configuration.'),
})

/** The same as JSON. */
export function renderPricedBy({ configuration, gateways }: PricesInForce): z.output<typeof PRICED_BY> {
  return {
    gateways: gateways.length === 0 ? null : gateways,
    configuration: configuration.hash,
    catalog: configuration.catalog,
    prices: configuration.settings.prices.length,
    markups: configuration.settings.markups.length,
  }
}
