import type { FastifyInstance } from 'fastify'
import { KINDS_OF_CLIENTS } from '../../doctor/conditions.ts'
import { GatewayError } from '../../http/errors.ts'
import { renderNewReceiver, renderReceiver, renderSendResult } from '../../limits/alerts/receiver-document.ts'
import { kindWithoutClient, readThresholds } from '../../limits/alerts/receiver-order.ts'
import { addReceiver, removeReceiver, selectReceivers } from '../../limits/alerts/receivers.ts'
import { testReceiver } from '../../limits/alerts/test-receiver.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { stored } from '../admin-answers.ts'
import { parseInput } from '../admin-input.ts'
import { tokenHolder } from '../admin-token.ts'
import { newReceiverBody } from './alert-input.ts'

type OfReceiver = { Params: { id: string } }

/** `/alerts`: who gets alerts. What signs them is only in the answer that adds a receiver without one. */
export function adminAlerts(app: FastifyInstance, { pool }: { readonly pool: Postgres }): void {
  app.get('/alerts', async () => (await stored(selectReceivers(pool))).map(renderReceiver))

  app.post('/alerts', async (request, reply) => {
    const body = parseInput(newReceiverBody, request.body)
    const { url, format, client = null, secret = null } = body
    const thresholds = readThresholds(body.thresholds) ?? []
    const order = { url, format, client, secret, thresholds, kinds: [...new Set(body.on)] }
    const misfit = kindWithoutClient(order, KINDS_OF_CLIENTS)
    if (misfit !== null)
      throw new GatewayError('invalid_request', {
        param: 'client',
        message: `client does not go with ${misfit}, which is about no single one.`,
      })
    const added = await stored(addReceiver(pool, order, tokenHolder(request)))
    if (added === null)
      throw new GatewayError('not_found', {
        param: 'client',
        message: `There is no client named ${client}.`,
      })
    request.log.info({ event: 'admin.receiver_added', receiver: added.id }, 'receiver of alerts added')
    return reply.code(201).send(secret === null ? renderNewReceiver(added) : renderReceiver(added))
  })

  app.delete<OfReceiver>('/alerts/:id', async (request) => {
    const { id } = request.params
    const removed = await stored(removeReceiver(pool, id, tokenHolder(request)))
    if (removed === null) throw noReceiver(id)
    request.log.info({ event: 'admin.receiver_removed', receiver: id }, 'receiver of alerts removed')
    return renderReceiver(removed)
  })

  app.post<OfReceiver>('/alerts/:id/test', async (request) => {
    const { id } = request.params
    const tested = await stored(testReceiver(pool, id))
    if (tested === null) throw noReceiver(id)
    return renderSendResult(tested.delivery, tested.result)
  })
}

function noReceiver(id: string): GatewayError {
  return new GatewayError('not_found', { message: `There is no receiver ${id}.` })
}
