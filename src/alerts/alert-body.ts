import type { AlertPayload } from '../domain/conditions/condition.ts'
import type { AlertFormat } from './alert-kinds.ts'

export interface StoredAlert {
  readonly id: string
  /** An alert's kind, or `test`. */
  readonly kind: string
  /** The name of the client that it is about; `null`: none. */
  readonly client: string | null
  readonly at: Date
  readonly payload: AlertPayload
}

/** The body of an alert: the same text for every attempt. */
export function renderAlert(alert: StoredAlert, format: AlertFormat): string {
  return JSON.stringify(format === 'slack' ? slackBody(alert) : genericBody(alert))
}

function genericBody({ id, kind, client, at, payload }: StoredAlert) {
  const { message, ...details } = payload
  return { id, type: kind, created_at: at.toISOString(), client, message, ...details }
}

/** https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks */
function slackBody({ id, kind, at, payload }: StoredAlert) {
  const text = escaped(payload.message).slice(0, MAX_SECTION)
  return {
    text,
    blocks: [
      { type: 'section', text: { type: 'plain_text', text, emoji: false } },
      {
        type: 'context',
        elements: [{ type: 'plain_text', text: `tallygate · ${kind} · ${at.toISOString()} · ${id}` }],
      },
    ],
  }
}

/** Slack's limit of a section. */
const MAX_SECTION = 3_000

/** Names come from clients: without this one could mention everybody, or write a link. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
