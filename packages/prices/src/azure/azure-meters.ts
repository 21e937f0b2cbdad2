/** The class of tokens that a meter of Azure's retail price list is the price of. */
export interface AzureMeter {
  /** The model's name as {@link azureNameOf} writes it. */
  readonly name: string
  /** Month and day of the model's revision; `null`: of all. */
  readonly revision: string | null
  /** As catalog data calls it. */
  readonly key: 'input_mtok' | 'output_mtok' | 'cache_read_mtok' | 'cache_write_mtok'
  /** `null`: standard. */
  readonly tier: 'batch' | 'priority' | 'flex' | null
  readonly place: 'global' | 'data-zone' | 'regional'
  /** It is of calls whose prompt is over {@link LONG_PROMPT_TOKENS}. */
  readonly isLong: boolean
}

/** "For models with a 1.05M context window, prompts with >272K input tokens": https://developers.openai.com/api/docs/pricing. */
export const LONG_PROMPT_TOKENS = 272_000

// Every spelling is one that the list has; there are many for each.
const PLACES = new Map<string, AzureMeter['place']>([
  ...['glbl', 'gl', 'glb', 'global'].map((word) => [word, 'global'] as const),
  ...['dz', 'dzn', 'dzone', 'datazone'].map((word) => [word, 'data-zone'] as const),
  ...['regnl', 'rgnl', 'regn', 'regional'].map((word) => [word, 'regional'] as const),
])
const TIERS = new Map<string, AzureMeter['tier']>([
  ['batch', 'batch'],
  ['pp', 'priority'],
  ['flex', 'flex'],
  ['fl', 'flex'],
])
const INPUT = new Set(['inp', 'inpt', 'input', 'in', 'inpu'])
const OUTPUT = new Set(['outp', 'opt', 'output', 'out', 'outpt', 'otp'])
const CACHED = new Set(['cached', 'cchd', 'ccchd', 'cd', 'cache', 'ch'])
const LONG = new Set(['longco', 'loco'])
const SAID_ANYWAY = new Set(['std', 'shortco', 'shco', '1m', 'new'])
const REVISION = /^(?:0[1-9]|1[0-2])(?:[0-2][0-9]|3[01])(?:20[0-9]{2})?$/

/** `null`: not of a model's tokens. What is left of a name after the known words is the model's, right or not. */
export function readAzureMeter(meterName: string): AzureMeter | null {
  const words = meterName
    .toLowerCase()
    .replace(/\s+tokens?$/, '')
    .replace(/data ?zone/g, 'dz')
    .split(/[\s-]+/)
    .filter((word) => word !== '')
  let place: AzureMeter['place'] | null = null
  let tier: AzureMeter['tier'] = null
  let direction: 'input' | 'output' | null = null
  let revision: string | null = null
  const is = { cached: false, written: false, long: false }
  const name: string[] = []
  for (const word of words) {
    const inPlace = PLACES.get(word)
    const atTier = TIERS.get(word)
    if (inPlace !== undefined) place = inPlace
    else if (atTier !== undefined) tier = atTier
    else if (INPUT.has(word)) direction = 'input'
    else if (OUTPUT.has(word)) direction = 'output'
    else if (CACHED.has(word)) is.cached = true
    else if (word === 'wr') is.written = true
    else if (LONG.has(word)) is.long = true
    else if (REVISION.test(word)) revision = word.slice(0, 4)
    else if (!SAID_ANYWAY.has(word)) name.push(word)
  }
  // Embeddings have nothing but input.
  if (direction === null && name.includes('embedding')) direction = 'input'
  if (place === null || name.length === 0 || (direction === null && !is.cached)) return null
  if (is.cached && direction === 'output') return null
  const key = is.written ? 'cache_write_mtok' : is.cached ? 'cache_read_mtok' : keyOf(direction)
  return { name: azureNameOf(name.join('')), revision, key, tier, place, isLong: is.long }
}

function keyOf(direction: 'input' | 'output' | null): AzureMeter['key'] {
  return direction === 'output' ? 'output_mtok' : 'input_mtok'
}

/** A name without what meters leave out or write otherwise: `gpt-5.4-mini` is `gpt54mini`. */
export function azureNameOf(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '')
}
