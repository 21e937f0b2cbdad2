import { existsSync, readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { CATALOG_PROVIDER_IDS } from '../pricing/catalog/catalog-providers.ts'

const PACKAGE = '@pydantic/genai-prices'

/** The part of the package that is used, in any version. */
const packageShape = z.object({
  findProvider: z.custom<(query: { readonly providerId: string }) => unknown>(
    (value) => typeof value === 'function',
    'is not a function',
  ),
})
const manifestShape = z.object({ name: z.literal(PACKAGE) })

/**
 * The text of a catalog from a path: that of a `data.json`, or the data of an unpacked package.
 *
 * @throws {Error} when there is neither.
 */
export function readCatalogText(path: string): string {
  if (!statSync(path).isDirectory()) return readFileSync(path, 'utf8')
  const manifest = join(path, 'package.json')
  if (!existsSync(manifest) || !manifestShape.safeParse(JSON.parse(readFileSync(manifest, 'utf8'))).success) {
    throw new Error(`${path} is not the package ${PACKAGE}`)
  }
  const loaded: unknown = createRequire(import.meta.url)(resolve(path))
  const { findProvider } = packageShape.parse(loaded)
  const providers = CATALOG_PROVIDER_IDS.map((providerId) => findProvider({ providerId }))
  return JSON.stringify(providers.filter((provider) => provider !== undefined && provider !== null))
}
