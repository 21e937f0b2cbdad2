import type { Environment } from '../config/config.ts'
import { readVariable } from '../config/environment.ts'
import { ConfigError } from '../config/variables.ts'
import { loadPriceConfig, type PriceConfig } from '../config/yaml/price-config.ts'
import { buildPriceConfiguration, type PriceConfiguration } from '../pricing/price-configuration.ts'

/** The prices of the command's own configuration; without TALLYGATE_CONFIG no prices and no markups. */
export function configurationNamed(own: PriceConfig, theirs: PriceConfiguration): PriceConfiguration {
  const catalog = own.source.file === null ? theirs.catalog : own.source.entries.source
  return buildPriceConfiguration(catalog, own.settings)
}

/** The prices of the command's own configuration, completed by those of the gateways. */
export function configurationGiven(
  env: Environment,
  own: PriceConfig,
  theirs: PriceConfiguration,
): PriceConfiguration {
  const catalog = own.source.file === null ? theirs.catalog : own.source.entries.source
  const settings = hasOwnConfig(env) ? own.settings : { ...theirs.settings, upstreams: [] }
  return buildPriceConfiguration(catalog, settings)
}

/** The same for commands that only show prices: an unreadable own configuration is reported elsewhere. */
export function findOwnConfiguration(env: Environment, theirs: PriceConfiguration): PriceConfiguration {
  try {
    return configurationGiven(env, loadPriceConfig(env), theirs)
  } catch (error) {
    if (error instanceof ConfigError) return theirs
    throw error
  }
}

export function hasOwnConfig(env: Environment): boolean {
  return readVariable(env, 'TALLYGATE_CONFIG') !== null
}
