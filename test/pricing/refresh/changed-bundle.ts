import { bundledText } from '#prices/bundled-lists.ts'

/** The bundled data as text, or `text`, with other prices for a model of openai's, as a newer version might have it. */
export function changedBundle(model: string, prices: object, text = bundledText()): string {
  const providers = JSON.parse(text) as { id: string; models: { id: string; prices: object }[] }[]
  const found = providers.find(({ id }) => id === 'openai')?.models.find(({ id }) => id === model)
  if (found === undefined) throw new Error(`the package has no ${model}`)
  found.prices = prices
  return JSON.stringify(providers)
}
