import { z } from 'zod'
import { utcDayOf } from '../../domain/utc-day.ts'
import {
  shownCount,
  shownCountOrNull,
  shownDocument,
  shownList,
  shownText,
  shownTextOrNull,
} from '../../operations/answers.ts'
import { FOR_THE_PAGE, operation } from '../../operations/operation.ts'
import type { ClientPorts } from '../../operations/ports.ts'
import type { OwnPriceLists } from '../own-price-lists.ts'
import type { ShownFrom } from '../shown-prices.ts'

export interface OwnPricePorts extends ClientPorts {
  /** The models that the client's key may use, else all that are shown. */
  listModels(): Promise<readonly { readonly id: string; readonly owned_by: string }[]>
  /** The prices in use now. */
  readonly shownPrices: () => ShownFrom
  readonly priceLists: OwnPriceLists
}

const MOST_MODELS = 1_000

export const ownModels = operation({
  name: 'own.models',
  summary: 'Shows the models that may be used, and what they cost today.',
  description: 'Where upstreams have different prices of one model, all are listed.',
  role: 'client',
  http: { method: 'GET', path: '/models', id: 'listOwnModels' },
  input: {},
  answer: shownList(
    shownDocument('OwnModel', {
      id: shownText('What calls name it by.'),
      owned_by: shownText("The source's value, else the provider."),
      prices: shownList(
        shownDocument('OwnPrice', {
          service_tier: shownTextOrNull('null: the standard one.'),
          hours: shownTextOrNull('The hours of the day in which it holds, UTC. null: all.'),
          context: z
            .strictObject({
              above: shownCount('Prompts of more tokens than this.'),
              up_to: shownCountOrNull('And of at most so many. null: of any size.'),
            })
            .nullable(),
          rates: shownList(
            shownDocument('OwnRate', {
              name: shownText('What is paid for.'),
              usd: shownText('US dollars, as decimal text, markups included.'),
              per: shownText('M tokens: a million tokens. request: one request.'),
            }),
          ),
        }),
        'None: calls of it have no price.',
      ),
    }),
    'At most 1,000.',
  ),
  gives: 'The models, by name.',
  command: FOR_THE_PAGE,
  async run({ listModels, shownPrices, priceLists, client, now }: OwnPricePorts) {
    const models = (await listModels()).toSorted((a, b) => (a.id < b.id ? -1 : 1)).slice(0, MOST_MODELS)
    const ids = models.map(({ id }) => id)
    const prices = await priceLists.find(shownPrices(), client.name, utcDayOf(now()), ids)
    return models.map(({ id, owned_by }) => ({ id, owned_by, prices: prices.get(id) ?? [] }))
  },
})
