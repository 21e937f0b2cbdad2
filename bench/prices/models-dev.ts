import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Provider } from '../../src/providers/registry.ts'
import type { Listing, PriceClass, Rate } from './listing.ts'

/** Its names of providers, and ours. Left out: subscriptions, hosts that we do not know, the platforms in China. */
const FILES: readonly (readonly [file: string, provider: Provider])[] = [
  ['openai', 'openai'],
  ['azure', 'azure-openai'],
  ['anthropic', 'anthropic'],
  ['amazon-bedrock', 'bedrock'],
  ['google', 'gemini'],
  ['google-vertex', 'vertex'],
  ['xai', 'xai'],
  ['openrouter', 'openrouter'],
  ['mistral', 'mistral'],
  ['groq', 'groq'],
  ['deepseek', 'deepseek'],
  ['together', 'together'],
  ['fireworks', 'fireworks'],
  ['cerebras', 'cerebras'],
  ['vercel-ai-gateway', 'vercel-gateway'],
  ['cloudflare-workers-ai', 'cloudflare'],
  ['huggingface', 'huggingface-router'],
  ['moonshotai', 'moonshotai'],
  ['zai', 'zai'],
]

/** USD for a million tokens; 0 stands for "has none" as well as for "not known". */
interface Cost {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  readonly cacheWrite: number
}

interface Model {
  readonly id: string
  readonly type: string
  readonly cost: Cost & { readonly tiers?: readonly (Cost & { readonly inputTokensAbove: number })[] }
}

/** @param folder `dist/providers/data` of the unpacked package. */
export function readModelsDev(folder: string): Listing[] {
  return FILES.flatMap(([file, provider]) => {
    const apis: Readonly<Record<string, Readonly<Record<string, Model>>>> = JSON.parse(
      readFileSync(join(folder, `${file}.json`), 'utf8'),
    )
    return Object.entries(apis).flatMap(([api, models]) =>
      // Classifiers have other prices under the same names; pictures have prices of their own.
      Object.values(models)
        .filter(({ type }) => type === 'chat')
        .map(({ id, cost }) => ({
          source: 'models.dev' as const,
          // Foundry's other makers speak chat completions.
          provider: file === 'azure' && api === 'openai-completions' ? ('azure-ai' as const) : provider,
          model: id,
          kind: 'chat' as const,
          rates: [cost, ...(cost.tiers ?? [])].flatMap((prices) => ratesOf(prices)),
        }))
        .filter(({ rates }) => rates.length > 0),
    )
  })
}

function ratesOf(cost: Cost & { readonly inputTokensAbove?: number }): Rate[] {
  const classes: readonly PriceClass[] = ['input', 'output', 'cacheRead', 'cacheWrite']
  return classes.flatMap((name) => {
    const usd = { ...cost }[name as keyof Cost]
    return usd > 0 ? [{ class: name, tier: '', above: cost.inputTokensAbove ?? 0, usd: usd / 1e6 }] : []
  })
}
