import { parseDocument, stringify } from 'yaml'
import { z } from 'zod'
import { type FoundUpstream, findUpstream } from './find-upstream.ts'

/** A LiteLLM configuration as ours. */
export interface ConvertedConfig {
  /** The YAML file. */
  readonly yaml: string
  /** What of the other is not in it, each a sentence. */
  readonly lost: readonly string[]
}

const members = z.record(z.string(), z.unknown()).catch({})
const modelShape = z.object({
  model_name: z.string(),
  litellm_params: members,
  model_info: members.default({}),
})
const fileShape = z.object({
  model_list: z.array(z.unknown()).catch([]),
  router_settings: members.default({}),
  litellm_settings: members.default({}),
  general_settings: members.default({}),
})

/** Parameters of a deployment that are in the result, or say nothing that is missing in it. */
const READ_PARAMS = new Set([
  'model',
  'custom_llm_provider',
  'api_base',
  'api_key',
  'weight',
  'api_version',
  'use_in_pass_through',
])
const ORDERS: ReadonlyMap<string, string> = new Map([
  ['latency-based-routing', 'health'],
  ['least-busy', 'health'],
  ['cost-based-routing', 'price'],
])
const MAX_ATTEMPTS = 10
const MAX_WEIGHT = 1_000

interface Target {
  readonly upstream: string
  readonly model: string
  readonly weight?: number
}

/** @throws {SyntaxError} When the text is not YAML with a `model_list`. */
export function convertConfig(text: string): ConvertedConfig {
  const document = parseDocument(text)
  const read = fileShape.safeParse(document.toJS({ maxAliasCount: 100 }))
  if (document.errors.length > 0 || !read.success || read.data.model_list.length === 0)
    throw new SyntaxError('it is not YAML with a model_list')
  const { model_list: models, router_settings: router, litellm_settings: settings } = read.data
  const lost: string[] = []
  const upstreams = new Map<string, FoundUpstream & { readonly name: string }>()
  const groups = new Map<string, Target[]>()
  const prices: Record<string, string>[] = []

  for (const [index, sent] of models.entries()) {
    const entry = modelShape.safeParse(sent)
    if (!entry.success) {
      lost.push(`model_list ${index + 1}: it has no model_name.`)
      continue
    }
    const { model_name: name, litellm_params: params, model_info: info } = entry.data
    const found = findUpstream(params)
    if (found.kind === 'none') {
      lost.push(`${name}: ${found.why}.`)
      continue
    }
    if (name.includes('*') || found.model.includes('*')) {
      lost.push(`${name}: routes have no patterns. Name it in models: of the upstream.`)
      continue
    }
    const upstream = nameUpstream(upstreams, found.upstream)
    if (found.hasWrittenKey)
      lost.push(
        `${name}: its key is written in the file or its variable cannot be named here. Put it into the variable ${found.upstream.api_key_env}.`,
      )
    for (const key of Object.keys(params))
      if (!READ_PARAMS.has(key) && !/^(input|output|cache).*_cost/.test(key))
        lost.push(`${name}: ${key} has nothing like it here.`)
    const targets = groups.get(name) ?? []
    groups.set(name, targets)
    targets.push({ upstream, model: found.model, ...weightOf(params.weight, name, lost) })
    const price = priceOf({ ...params, ...info }, found.model, upstream)
    if (price !== null) prices.push(price)
    else if (found.upstream.provider === 'azure-openai')
      lost.push(
        `${name}: a hard budget refuses its deployment ${found.model}, unless that is a model's name or prices names it.`,
      )
  }

  const fallbacks = fallbacksOf([router.fallbacks, settings.fallbacks])
  const attempts = attemptsOf(router.num_retries ?? settings.num_retries)
  const order = ORDERS.get(String(router.routing_strategy)) ?? null
  const routes = [...groups].map(([model, own]) => {
    const others = (fallbacks.get(model) ?? []).flatMap((other) => groups.get(other) ?? [])
    if (others.length > 0 && own.length > 1)
      lost.push(`${model}: with fallbacks its targets are asked in their order, not by weight.`)
    const to = others.length === 0 ? own : [...own, ...others].map(({ weight: _, ...target }) => target)
    return {
      model,
      to: to.filter(
        (one, index) =>
          to.findIndex((other) => other.upstream === one.upstream && other.model === one.model) === index,
      ),
      ...(attempts === null ? {} : { retry: { attempts } }),
      ...(others.length > 0 ? { order: 'listed' } : order === null ? {} : { order }),
    }
  })
  const aliases = Object.entries(members.parse(router.model_group_alias))
  for (const [alias, of] of aliases) {
    const route = routes.find(({ model }) => model === of)
    if (route === undefined || groups.has(alias)) lost.push(`The alias ${alias} names no model of the file.`)
    else routes.push({ ...route, model: alias })
  }
  lost.push(...lostOf(read.data, order !== null))
  const result = {
    upstreams: [...upstreams.values()],
    routes,
    ...(prices.length === 0 ? {} : { prices }),
  }
  return { yaml: stringify(result, { lineWidth: 0 }), lost }
}

function nameUpstream(
  known: Map<string, FoundUpstream & { readonly name: string }>,
  upstream: FoundUpstream,
): string {
  const identity = JSON.stringify([upstream.url, upstream.api_key_env])
  const found = known.get(identity)
  if (found !== undefined) return found.name
  const names = new Set([...known.values()].map(({ name }) => name))
  let name: string = upstream.provider
  for (let number = 2; names.has(name); number += 1) name = `${upstream.provider}-${number}`
  known.set(identity, { name, ...upstream })
  return name
}

function weightOf(sent: unknown, name: string, lost: string[]): { weight?: number } {
  if (sent === undefined || sent === null) return {}
  const weight = Math.round(Number(sent))
  if (weight >= 1 && weight <= MAX_WEIGHT) return { weight }
  lost.push(`${name}: its weight is not from 1 to ${MAX_WEIGHT}.`)
  return {}
}

function attemptsOf(retries: unknown): number | null {
  return typeof retries === 'number' && Number.isInteger(retries) && retries >= 0
    ? Math.min(retries + 1, MAX_ATTEMPTS)
    : null
}

/** `[{ "gpt-4o": ["claude"] }]`, as both sections have it. */
function fallbacksOf(lists: readonly unknown[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>()
  for (const list of lists)
    for (const one of Array.isArray(list) ? list : [])
      for (const [model, others] of Object.entries(Object(one)))
        if (Array.isArray(others))
          found.set(
            model,
            others.filter((other) => typeof other === 'string'),
          )
  return found
}

const PRICES = [
  ['input_cost_per_token', 'input'],
  ['output_cost_per_token', 'output'],
  ['cache_read_input_token_cost', 'cached_input'],
  ['cache_creation_input_token_cost', 'cache_write'],
] as const

/** US dollars a million tokens, where the file has both that are needed; `null`: it has none. */
function priceOf(
  info: Readonly<Record<string, unknown>>,
  model: string,
  upstream: string,
): Record<string, string> | null {
  const found = PRICES.flatMap(([theirs, ours]) => {
    const value = Number(info[theirs] ?? Number.NaN)
    const isPrice = Number.isFinite(value) && value >= 0 && value < 1
    return isPrice ? [[ours, (value * 1_000_000).toFixed(6).replace(/\.?0+$/, '') || '0'] as const] : []
  })
  const names = found.map(([name]) => name)
  return names.includes('input') && names.includes('output')
    ? { model, upstream, ...Object.fromEntries(found) }
    : null
}

/** Members of the sections that are read above. */
const READ_SETTINGS = new Set(['fallbacks', 'num_retries', 'model_group_alias'])

function lostOf(file: z.infer<typeof fileShape>, hasOrder: boolean): readonly string[] {
  const { general_settings: general, ...sections } = file
  const lost = Object.keys(general).map((name) =>
    name === 'master_key'
      ? 'general_settings.master_key is not taken. ADMIN_TOKEN opens the admin interface, and key create makes keys.'
      : `general_settings.${name} has nothing like it here.`,
  )
  for (const section of ['router_settings', 'litellm_settings'] as const)
    for (const name of Object.keys(sections[section]))
      if (!READ_SETTINGS.has(name) && !(name === 'routing_strategy' && hasOrder))
        lost.push(
          name === 'routing_strategy'
            ? 'router_settings.routing_strategy: targets are chosen by weight.'
            : /timeout/.test(name)
              ? `${section}.${name} is not taken: set first_byte_timeout of routes.`
              : `${section}.${name} has nothing like it here.`,
        )
  return lost
}
