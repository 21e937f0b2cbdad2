import type { Dialect } from '../../dialect.ts'
import { bodyFormat } from '../../reading/body-format.ts'
import { createBodyReader } from '../../reading/body-reader.ts'
import { member, objectIn, textIn } from '../../reading/json-value.ts'
import { compileProjection } from '../../wires/json.ts'
import { scanJson } from '../../wires/scan-json.ts'
import { createRealtimeReader, REALTIME_FIELDS } from './realtime-session.ts'

/**
 * The realtime API over WebSocket, of OpenAI, Azure and xAI: each `response.done` has the usage of that response
 * (xAI writes it beside an empty one), so they are added over the session. Input transcription runs on another
 * model and is billed apart: a part under that model, and all of a session that does nothing else.
 * https://platform.openai.com/docs/api-reference/realtime-server-events
 */
export const realtime: Dialect = {
  name: 'openai.realtime',
  readsRequest: false,
  takesIncludeUsage: false,
  modelInPath: () => null,
  createReader: (_request, head) => createBodyReader(head, FORMAT),
  createMessageReader: createRealtimeReader,
  readClientMessage(message) {
    const event = scanJson(message, CLIENT_EVENT).value
    return {
      model: textIn(member(event, 'session')?.model),
      isAmbiguous: false,
      asks: objectIn(event)?.type === 'response.create',
    }
  },
  textOf(json) {
    const event = objectIn(json)
    const isDelta =
      textIn(event?.type)?.endsWith('.delta') === true && !textIn(event?.type)?.endsWith('audio.delta')
    return isDelta ? (textIn(event?.delta) ?? '') : ''
  },
}

/** `session.update` may name a model; the handshake's query names that of most sessions. */
const CLIENT_EVENT = compileProjection({ type: 'value', session: { model: 'value' } })
const FORMAT = bodyFormat({ fields: REALTIME_FIELDS, prefilter: ['usage'] })
