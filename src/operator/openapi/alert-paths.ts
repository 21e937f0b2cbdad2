import { body, COMMON, guarded, id } from './operation-parts.ts'
import { errors, json } from './responses.ts'
import { list, ref } from './schema-parts.ts'
import type { PathItem } from './types.ts'

/** Who gets alerts. */
export const ALERT_PATHS: Readonly<Record<string, PathItem>> = {
  '/admin/v1/alerts': {
    get: guarded({
      operationId: 'listReceivers',
      summary: 'Who gets alerts, and how the last delivery went.',
      responses: { '200': json('The receivers, oldest first.', list(ref('Receiver'))), ...errors(...COMMON) },
    }),
    post: guarded({
      operationId: 'addReceiver',
      summary: 'Sends alerts to a URL.',
      requestBody: body('NewReceiver', true),
      responses: {
        '201': json('The receiver, and what signs its alerts, shown this once.', ref('MadeReceiver')),
        ...errors('invalid_request', ...COMMON, 'not_found', 'body_too_large'),
      },
    }),
  },
  '/admin/v1/alerts/{id}': {
    parameters: [id('receiver')],
    delete: guarded({
      operationId: 'removeReceiver',
      summary: 'Sends no more alerts there; those under way are dropped.',
      responses: {
        '200': json('The receiver as it was.', ref('Receiver')),
        ...errors(...COMMON, 'not_found'),
      },
    }),
  },
  '/admin/v1/alerts/{id}/test': {
    parameters: [id('receiver')],
    post: guarded({
      operationId: 'testReceiver',
      summary: 'Sends a signed sample now, once, and says what came back.',
      responses: { '200': json('What came back.', ref('SentSample')), ...errors(...COMMON, 'not_found') },
    }),
  },
}
