import { z } from 'zod'
import { ALERT_KINDS } from '../../doctor/conditions.ts'
import { ALERT_FORMATS, DEFAULT_THRESHOLDS } from '../../limits/alerts/alert-kinds.ts'
import {
  isAlertSecret,
  readThresholds,
  SECRET_FORM,
  THRESHOLDS_FORM,
  urlProblem,
} from '../../limits/alerts/receiver-order.ts'
import { anyName } from '../admin-input.ts'

const url = z.string('must be a text').superRefine((text, context) => {
  const problem = urlProblem(text)
  if (problem !== null) context.addIssue({ code: 'custom', message: problem })
})

const thresholds = z
  .array(z.number(`must be ${THRESHOLDS_FORM}`), `must be ${THRESHOLDS_FORM}`)
  .refine((percents) => readThresholds(percents) !== null, `must be ${THRESHOLDS_FORM}`)
  .default([...DEFAULT_THRESHOLDS])

/** The body that adds a receiver. */
export const newReceiverBody = z.strictObject({
  url,
  on: z
    .array(
      z.enum(ALERT_KINDS, `must be some of ${ALERT_KINDS.join(', ')}`),
      `must be a list of ${ALERT_KINDS.join(', ')}`,
    )
    .min(1, 'must name something'),
  format: z.enum(ALERT_FORMATS, `must be ${ALERT_FORMATS.join(' or ')}`).default('generic'),
  thresholds,
  client: anyName.optional(),
  secret: z.string('must be a text').refine(isAlertSecret, `must be ${SECRET_FORM}`).optional(),
})
