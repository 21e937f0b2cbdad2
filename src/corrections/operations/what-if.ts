import { z } from 'zod'
import { DEFAULT_PERIOD_DAYS, type Period, periodOf } from '../../domain/period.ts'
import { picoToUsdText } from '../../domain/pico-usd.ts'
import { findClient } from '../../keys/clients.ts'
import { getGroupOfAnyDay } from '../../keys/operations/groups.ts'
import {
  shownCount,
  shownDay,
  shownDocument,
  shownList,
  shownText,
  shownTextOrNull,
} from '../../operations/answers.ts'
import { clientField, formField, modelField, textField } from '../../operations/fields.ts'
import { type InputOf, renderedOperation } from '../../operations/operation.ts'
import { VALUE } from '../../operations/read-input.ts'
import { invalid, noClient } from '../../operations/refuse.ts'
import { renderTable } from '../../operations/table.ts'
import {
  describePriceSource,
  PRICED_BY,
  type PricePorts,
  type PricesInForce,
  renderPricedBy,
} from '../../pricing/operations/prices-in-force.ts'
import {
  checkPeriod,
  PERIOD_FIELDS,
  PERIOD_OPTIONS,
  periodAsked,
} from '../../usage/operations/asked-period.ts'
import type { Reckoned, ReckonedRow, WhatIf } from '../what-if/reckon.ts'
import type { ModelSwap, ServedAt, SupposedTier, TierSwap, Uncertainty } from '../what-if/supposed.ts'

/** Rows that are named, those that change most first. */
const MOST_ROWS = 1_000
const MOST_PRICE_BYTES = 256 * 1024

const SWAP = /^[^\p{Cc}=]{1,200}=[^\p{Cc}=*]{1,200}$/u
const SUPPOSED_TIERS = ['standard', 'batch', 'flex', 'priority'] as const satisfies readonly SupposedTier[]
const TIERS = SUPPOSED_TIERS.join('|')
const TIER = new RegExp(`^(${TIERS})=(${TIERS})$`)
const SHARE = /^(?:0(?:\.[0-9]{1,6})?|1(?:\.0{1,6})?)$/

const FIELDS = {
  ...PERIOD_FIELDS,
  swap: z
    .array(
      formField(SWAP, 'must be two models, such as gpt-4o=gpt-4o-mini', {
        description: 'A model, or the beginning of names and *, and the model in its place.',
      }),
      'must be a list of two models each, such as gpt-4o=gpt-4o-mini',
    )
    .min(1, 'must name two models')
    .max(50, 'must name at most 50')
    .meta({
      description:
        'Another model in place of one: OLD=NEW, several with commas between. OLD is what calls are counted under, or the beginning of names and *.',
      [VALUE]: 'old=new',
    })
    .optional(),
  at: textField(
    'The upstream that serves those models. Without it: the same one where it has a price for them, else the first that has.',
    'name',
  ).optional(),
  tier: formField(
    TIER,
    `must be two different ones of ${SUPPOSED_TIERS.join(', ')}, such as standard=batch`,
    {
      description: `Another service tier in place of one: two of ${SUPPOSED_TIERS.join(', ')}.`,
      examples: ['standard=batch'],
      [VALUE]: 'old=new',
    },
  ).optional(),
  prices: z
    .string('must be a text')
    .refine((text) => Buffer.byteLength(text) <= MOST_PRICE_BYTES, 'must not have more than 262144 bytes')
    .meta({
      description: 'YAML with a list prices, as in a configuration: these prices are added to its own.',
      [VALUE]: 'file',
    })
    .optional(),
  cached_share: formField(SHARE, 'must be a share from 0 to 1, such as 0.6', {
    description: 'The share of prompt tokens that is read from the cache.',
    examples: ['0.6'],
    [VALUE]: 'share',
  }).optional(),
  client: clientField().optional(),
  group: textField(
    'Only clients in this group or below it, on the days they were. By id or name.',
    'group',
  ).optional(),
  key: textField('Only what came with this key, by its id.', 'id').optional(),
  model: modelField('Only what this model answered, or models whose names begin so.').optional(),
  upstream: textField('Only what went to this upstream.', 'name').optional(),
}

type Asked = InputOf<typeof FIELDS>

const SUMS = {
  calls: shownCount('Calls whose cost then is known.'),
  changed_calls: shownCount('Of these, those that what is supposed concerns.'),
  now_usd: shownText('What they cost, corrections included.'),
  then_least_usd: shownText('What they would have cost, at least.'),
  then_most_usd: shownText('And at most. The same where nothing is uncertain.'),
  difference_least_usd: shownText('What would be added, at least. Below 0: saved.'),
  difference_most_usd: shownText('And at most.'),
}

interface Found {
  readonly period: Period
  readonly reckoned: WhatIf
  readonly places: readonly string[]
  readonly by: PricesInForce
}

export const whatIfOperation = renderedOperation({
  name: 'usage.what-if',
  summary: 'Shows what past calls would have cost: other models, tiers, prices, more caching.',
  description:
    'Calls are priced as a gateway with that configuration would price them, and nothing is written. Without anything supposed it says what caching saved, and could save.',
  role: 'read',
  http: {
    method: 'POST',
    path: '/usage/what-if',
    id: 'supposeUsage',
    body: 'Supposition',
    bodyLimitBytes: 2 * MOST_PRICE_BYTES,
  },
  input: FIELDS,
  check(asked) {
    checkPeriod(asked)
    const [from, to] = asked.tier?.split('=') ?? []
    if (from !== undefined && from === to) throw invalid('tier', 'must name two different tiers')
    if (asked.at !== undefined && asked.swap === undefined) throw invalid('at', 'needs swap')
  },
  answer: shownDocument('WhatIf', {
    from: shownDay('The first UTC day.'),
    to: shownDay('The last one.'),
    ...SUMS,
    rows: shownList(
      shownDocument('WhatIfRow', {
        client: shownTextOrNull('The name of the client. null: it is not known any more.'),
        model: shownText('The model that answered.'),
        ...SUMS,
      }),
      `By client and model, at most ${MOST_ROWS}: those that change most first.`,
    ),
    left_out: shownList(
      shownDocument('LeftOutCalls', {
        reason: shownText('Why it is not known what they would have cost.'),
        calls: shownCount('So many calls, which are in none of the sums.'),
        now_usd: shownText('What they cost.'),
      }),
    ),
    remarks: shownList(z.string(), 'What was assumed.'),
    caching: shownDocument('CacheSavings', {
      prompt_tokens: shownCount('Prompt tokens of calls whose price is known.'),
      read_tokens: shownCount('Of these, those that were read from the cache.'),
      saved_usd: shownText('These, times what tokens that are not read cost more.'),
      writes_usd: shownText('What writing to the cache cost beyond prompts that are not written.'),
      could_save_usd: shownText(
        'What would be saved beyond if every other token of text were read: at most.',
      ),
    }),
    calls_one_by_one: shownCount('Calls that were priced one by one, the others by the sums of their rows.'),
    priced_by: PRICED_BY,
  }),
  gives: 'What it cost, and would have.',
  errors: ['not_found', 'conflict'],
  isLong: true,
  isPriced: true,
  async run(ports: PricePorts, asked): Promise<Found> {
    const { pool, now, progress } = ports
    const nowMs = now()
    const period = periodAsked(asked, nowMs) ?? periodOf(DEFAULT_PERIOD_DAYS, nowMs)
    const client = asked.client === undefined ? null : await findClient(pool, asked.client)
    if (asked.client !== undefined && client === null) throw noClient(asked.client)
    const group = asked.group === undefined ? null : await getGroupOfAnyDay(pool, asked.group)
    const by = await ports.findPrices()
    const { catalog, upstreams } = by.config
    const pricesThen =
      asked.prices === undefined ? catalog : await ports.addOwnPrices(by.config, asked.prices)
    if (!('priceCall' in pricesThen))
      throw invalid('prices', `cannot be read: ${pricesThen.slice(0, 3).join('; ')}`)
    if (asked.at !== undefined && !upstreams.some(({ name }) => name === asked.at))
      throw invalid('at', `must be one of ${upstreams.map(({ name }) => name).join(', ')}`)
    const places = new Places(asked.at, upstreams, (place, model) =>
      pricesThen.knowsModel(place.provider, place.upstream, model, nowMs),
    )
    const { reckonWhatIf } = await import('../what-if/reckon.ts') // a gateway starts without it
    const shown = progress('calls')
    const reckoned = await reckonWhatIf(
      pool,
      {
        model: asked.model ?? '*',
        provider: null,
        since: period.fromDay,
        until: period.toDay,
        clientId: client?.id,
        groupId: group?.id,
        keyId: asked.key,
        upstream: asked.upstream,
      },
      {
        models: (asked.swap ?? []).map(swapOf),
        tier: asked.tier === undefined ? null : tierOf(asked.tier),
        cachedShare: asked.cached_share === undefined ? null : Number(asked.cached_share),
        pricesNow: catalog,
        pricesThen,
        placeOf: (upstream, model) => places.find(upstream, model),
      },
      (day, calls) => shown.at(day, calls),
    )
    return { period, reckoned, places: places.used, by }
  },
  render: (found: Found, asked) => {
    const { period, reckoned, by } = found
    const { savings, leftOut, total, oneByOne } = reckoned
    return {
      from: period.fromDay,
      to: period.toDay,
      ...sumsOf(total),
      rows: rowsOf(reckoned)
        .slice(0, MOST_ROWS)
        .map((row) => ({ client: row.client, model: row.model, ...sumsOf(row) })),
      left_out: [...leftOut].map(([reason, { calls, pico }]) => ({
        reason,
        calls: Number(calls),
        now_usd: picoToUsdText(pico),
      })),
      remarks: remarksOf(found, asked),
      caching: {
        prompt_tokens: Number(savings.promptTokens),
        read_tokens: Number(savings.readTokens),
        saved_usd: picoToUsdText(savings.savedPico),
        writes_usd: picoToUsdText(savings.writesPico),
        could_save_usd: picoToUsdText(savings.couldPico),
      },
      calls_one_by_one: Number(oneByOne),
      priced_by: renderPricedBy(by),
    }
  },
  command: {
    words: 'usage what-if',
    options: { ...PERIOD_OPTIONS, prices: '--prices <prices-file>' },
    print: textOf,
  },
})

/** Where models are served that are supposed in the place of others. */
class Places {
  readonly #found = new Map<string, ServedAt | null>()
  readonly #at: string | undefined
  readonly #upstreams: readonly { readonly name: string; readonly provider: string }[]
  readonly #knows: (place: ServedAt, model: string) => boolean

  constructor(
    at: string | undefined,
    upstreams: readonly { readonly name: string; readonly provider: string }[],
    knows: (place: ServedAt, model: string) => boolean,
  ) {
    this.#at = at
    this.#upstreams = upstreams
    this.#knows = knows
  }

  find(upstream: string, model: string): ServedAt | null {
    const name = `${upstream}\0${model}`
    const known = this.#found.get(name)
    if (known !== undefined) return known
    const own = this.#upstreams.filter((one) => one.name === upstream)
    const others = this.#upstreams.filter((one) => one.name !== upstream)
    const fitting = [...own, ...others].filter((one) => this.#at === undefined || one.name === this.#at)
    const places = fitting.map((one) => ({ provider: one.provider, upstream: one.name }))
    const place = places.find((one) => this.#knows(one, model)) ?? null
    this.#found.set(name, place)
    return place
  }

  /** In words. */
  get used(): readonly string[] {
    return [...this.#found].flatMap(([name, place]) => {
      const [upstream, model] = name.split('\0')
      return place === null
        ? []
        : [`${model} in place of models at ${upstream}: priced at ${place.upstream}.`]
    })
  }
}

function swapOf(written: string): ModelSwap {
  const [from = '', to = ''] = written.split('=')
  return { from, to }
}

function tierOf(written: string): TierSwap {
  const [, from, to] = TIER.exec(written) ?? []
  const named = (name: string | undefined) => SUPPOSED_TIERS.find((tier) => tier === name) ?? 'standard'
  return { from: named(from), to: named(to) }
}

function sumsOf({ calls, changed, nowPico, leastPico, mostPico }: Reckoned) {
  return {
    calls: Number(calls),
    changed_calls: Number(changed),
    now_usd: picoToUsdText(nowPico),
    then_least_usd: picoToUsdText(leastPico),
    then_most_usd: picoToUsdText(mostPico),
    difference_least_usd: picoToUsdText(leastPico - nowPico),
    difference_most_usd: picoToUsdText(mostPico - nowPico),
  }
}

function rowsOf({ rows }: WhatIf): readonly ReckonedRow[] {
  const size = ({ nowPico, leastPico, mostPico }: Reckoned) => {
    const twice = leastPico + mostPico - 2n * nowPico
    return twice < 0n ? -twice : twice
  }
  return rows.toSorted((a, b) => {
    const [one, other] = [size(a), size(b)]
    if (one !== other) return one > other ? -1 : 1
    return `${a.client}\0${a.model}` < `${b.client}\0${b.model}` ? -1 : 1
  })
}

const BECAUSE: Readonly<Record<Uncertainty, string>> = {
  tokenizer:
    'Models of other families split text into other tokens. Taken: the ratio measured for the families, times 0.86 to 1.15 for each that is not OpenAI (docs/accuracy.md). How long another model thinks or answers is not known: the same text is assumed.',
  cache_writes:
    'Prompt tokens that are not read from the cache are either all written to it, for five minutes, or none is.',
}

function remarksOf(
  { reckoned, places }: Pick<Found, 'reckoned' | 'places'>,
  asked: Asked,
): readonly string[] {
  const isSupposed = [asked.swap, asked.tier, asked.prices, asked.cached_share].some(
    (one) => one !== undefined,
  )
  return [
    ...(isSupposed ? [] : ['Nothing is supposed to be otherwise.']),
    ...places,
    ...[...reckoned.because].map((why) => BECAUSE[why]),
  ]
}

function textOf(found: Found, asked: Asked): string {
  const { period, reckoned, by } = found
  const { total, leftOut, savings } = reckoned
  const cells = (sums: Reckoned) => [
    `${sums.calls}`,
    picoToUsdText(sums.nowPico),
    rangeOf(sums.leastPico, sums.mostPico),
    rangeOf(sums.leastPico - sums.nowPico, sums.mostPico - sums.nowPico),
  ]
  const table = renderTable(
    [
      { heading: 'CLIENT' },
      { heading: 'MODEL' },
      ...['CALLS', 'NOW USD', 'THEN USD', 'DIFFERENCE USD'].map((heading) => ({
        heading,
        align: 'right' as const,
      })),
    ],
    rowsOf(reckoned).map((row) => [row.client ?? row.clientId, row.model, ...cells(row)]),
    ['(all)', '', ...cells(total)],
  )
  const { savedPico, writesPico, couldPico, readTokens, promptTokens } = savings
  return [
    `${period.fromDay} to ${period.toDay}, UTC`,
    table,
    '',
    ...[...leftOut].map(
      ([reason, { calls, pico }]) => `Left out: ${calls} calls, ${picoToUsdText(pico)} USD: ${reason}.`,
    ),
    ...remarksOf(found, asked),
    `Caching: ${readTokens} of ${promptTokens} prompt tokens were read from the cache, which saved ${picoToUsdText(savedPico)} USD. Writing to it cost ${picoToUsdText(writesPico)} USD more, and ${picoToUsdText(couldPico)} USD more could be saved at most.`,
    describePriceSource(by),
  ].join('\n')
}

function rangeOf(least: bigint, most: bigint): string {
  return least === most ? picoToUsdText(least) : `${picoToUsdText(least)} to ${picoToUsdText(most)}`
}
