import { reasonOf } from '../lib/reason-of.ts'
import type { Asked } from '../pricing/operations/update.ts'
import { PRICE_KINDS } from '../pricing/refresh/stored-prices.ts'
import { readCatalogText } from './current-catalog.ts'
import type { Environment } from './environment.ts'
import { readPricesUrl } from './price-refresh-config.ts'

/** Price data from a path, or of every source that has a URL where none is named. */
export async function findOfferedPrices(env: Environment, path: string | null): Promise<readonly Asked[]> {
  if (path !== null) return [readOffered(path)]
  const { fetchOf } = await import('../pricing/refresh/price-pages.ts') // a gateway starts without it
  const asked: Asked[] = []
  for (const kind of PRICE_KINDS) {
    const problems: string[] = []
    const url = readPricesUrl(env, problems, kind)
    const [problem] = problems
    if (problem !== undefined) asked.push({ kind, unreachable: problem })
    else if (url !== null) {
      const fetched = await fetchOf(kind)(url, null)
      if (fetched.kind === 'fetched') asked.push({ kind, offered: { kind, text: fetched.text, origin: url } })
      else {
        const why = fetched.kind === 'unmodified' ? 'no answer' : fetched.problem
        asked.push({ kind, unreachable: `${url}: ${why}` })
      }
    }
  }
  return asked
}

function readOffered(path: string): Asked {
  const kind = 'genai-prices'
  try {
    return { kind, offered: { kind, text: readCatalogText(path), origin: path } }
  } catch (error) {
    return { kind, unreachable: `${path} cannot be read: ${reasonOf(error)}` }
  }
}
