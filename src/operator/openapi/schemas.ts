import { z } from 'zod'
import { CLIENT_LIMIT } from '../../limits/operations/own-limits.ts'
import { shownDocument, shownList, shownText } from '../../operations/answers.ts'
import { SIGNED_RECEIPT } from '../../statements/receipt-document.ts'
import { CLIENT_USAGE } from '../../usage/operations/own-usage.ts'

const USAGE = shownDocument('Usage', {
  ...CLIENT_USAGE,
  limits: shownList(CLIENT_LIMIT, 'Only with include=limits.').optional(),
})

const MODEL_LIST = shownDocument('ModelList', {
  object: z.literal('list'),
  data: shownList(
    shownDocument('Model', {
      id: shownText('What calls name it by.'),
      object: z.literal('model'),
      created: z
        .number()
        .meta({
          type: 'integer',
          description: 'Seconds since 1970; only where the source of the list gave it.',
        })
        .optional(),
      owned_by: shownText("The source's value, else the provider."),
    }),
  ),
})

const ALIVE = shownDocument('Alive', { status: z.literal('ok') })

const READINESS = shownDocument('Readiness', {
  status: z.enum(['ready', 'unavailable']),
  degraded: shownList(z.string(), 'What works less well just now.'),
  advice: shownList(z.string(), 'What to do, where the names do not say it.').optional(),
})

/** Answers of health, and of what clients ask for themselves. */
export const OTHER_ANSWERS = z.tuple([USAGE, SIGNED_RECEIPT, MODEL_LIST, ALIVE, READINESS])
