import { z } from 'zod'
import { type ListedKey, renderKey, renderNewKey } from '../../domain/documents/key-document.ts'
import { shownDocument, shownList, shownMomentOrNull, shownText } from '../../operations/answers.ts'
import {
  clientField,
  durationField,
  LIST_PART,
  LISTED_ROWS,
  modelField,
  nameField,
  textField,
} from '../../operations/fields.ts'
import { announcedChange, Part, renderedOperation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { badCursor, noClient, notFound } from '../../operations/refuse.ts'
import { findClient } from '../clients.ts'
import { createClientKey, type NewKey, revokeKey, type StoredKey, selectKeyPage } from '../keys.ts'

/** What operations that make keys use. */
export interface KeyPorts extends Ports {
  /** The pepper that new keys are hashed with. Throws where it is not configured. */
  newKeyPepper(): string
  /** The peppers that keys may be hashed with, that one first. */
  readonly keyPeppers: readonly string[]
}

const KEY = {
  id: shownText('The id of the key, which begins with key_.'),
  client: shownText('The name of its client.'),
  name: shownText('Its label.'),
  prefix: shownText('The beginning of the key, to tell it by.'),
}
const EXPIRES_AT = shownMomentOrNull('The end of the key. null: it has none.')

export const SHOWN_KEY = shownDocument('Key', {
  ...KEY,
  expires_at: EXPIRES_AT,
  revoked_at: shownMomentOrNull('null: the key is not revoked.'),
  last_used_at: shownMomentOrNull('To the minute. null: the key was never used.'),
})

export const MADE_KEY = shownDocument('MadeKey', {
  ...KEY,
  key: shownText('The key itself: this is the only time it is shown.'),
  expires_at: EXPIRES_AT,
})

export const KEY_ID = textField('The id of the key.', 'id')

export const createKeyOperation = renderedOperation({
  name: 'keys.create',
  summary: 'Makes a key. It is shown this once.',
  role: 'write',
  http: { method: 'POST', path: '/keys', id: 'createKey', status: 201, body: 'NewKey' },
  input: {
    client: clientField('The name of the client that the key is for.'),
    name: nameField('A label to tell keys apart.').default('default'),
    expires_in: durationField(
      'The key ends after this time, such as 90d. Without it: never.',
      'some',
    ).optional(),
    models: z
      .array(
        modelField('A name, or a beginning of names followed by *.'),
        'must be a list of names of models',
      )
      .min(1, 'must name a model, or be left out for all of them')
      .max(1_000, 'must be at most 1,000 names')
      .describe('The models that the key may use, such as gpt-4o,claude-*. Without it: every model.')
      .optional(),
  },
  answer: MADE_KEY,
  gives: 'The key, shown this once.',
  errors: ['not_found'],
  async run({ pool, newKeyPepper }: KeyPorts, { client, name, expires_in: seconds = null, models }) {
    const order = {
      client,
      name,
      models: models === undefined ? null : [...new Set(models)],
      expiresInSeconds: seconds,
    }
    const made = await createClientKey(pool, order, newKeyPepper())
    if (made === null) throw noClient(client)
    return made
  },
  render: renderNewKey,
  changes: announcedChange('admin.key_created', 'key created', 'key'),
  command: { words: 'key create', print: newKeyText },
})

export const listKeysOperation = renderedOperation({
  name: 'keys.list',
  summary: 'Shows keys, without their secrets.',
  role: 'read',
  http: { method: 'GET', path: '/keys', id: 'listKeys', rows: LISTED_ROWS },
  input: { client: clientField().optional(), ...LIST_PART },
  answer: shownList(SHOWN_KEY),
  gives: 'The keys, by client, oldest first.',
  errors: ['not_found'],
  async run({ pool }: Ports, { client = null, limit = null, cursor = null }) {
    if (client !== null && (await findClient(pool, client)) === null) throw noClient(client)
    const page = await selectKeyPage(pool, client, { limit, cursor })
    if (page === null) throw badCursor()
    return new Part(page.items, page.next)
  },
  render: (keys: readonly StoredKey[]) => keys.map(renderKey),
  command: {
    words: 'key list',
    print: {
      empty: 'There is no key yet. Make one: key create --client NAME',
      columns: [
        { heading: 'CLIENT', cell: ({ client }) => client },
        { heading: 'NAME', cell: ({ name }) => name },
        { heading: 'KEY', cell: ({ prefix }) => `${prefix}...` },
        { heading: 'STATE', cell: stateOf },
        { heading: 'MODELS', cell: ({ models }) => models?.join(',') ?? 'all' },
        { heading: 'LAST USED', cell: ({ lastUsedAt }) => dayOf(lastUsedAt) },
        { heading: 'ID', cell: ({ id }) => id },
      ],
    },
  },
})

export const revokeKeyOperation = renderedOperation({
  name: 'keys.revoke',
  summary: 'Refuses a key from now on, within a second.',
  role: 'write',
  http: { method: 'POST', path: '/keys/{id}/revoke', id: 'revokeKey' },
  input: { id: KEY_ID },
  answer: SHOWN_KEY,
  gives: 'The key.',
  errors: ['not_found'],
  async run({ pool }: Ports, { id }) {
    const revoked = await revokeKey(pool, id)
    if (revoked === null) throw noKey(id)
    return revoked
  },
  render: renderKey,
  changes: announcedChange('admin.key_revoked', 'key revoked', 'key'),
  command: {
    words: 'key revoke',
    print: ({ id, client }) => `Key ${id} of client ${client} is revoked.`,
  },
})

export function noKey(id: string) {
  return notFound(`There is no key ${id}.`, undefined, 'key list shows them')
}

/** What a person is shown of a key that was just made. */
export function newKeyText(key: NewKey): string {
  const end = key.expiresAt === null ? '' : ` It ends at ${minuteOf(key.expiresAt)}.`
  return `${key.key}\n\nThe key ${key.name} (${key.id}) of client ${key.client}, shown this once.${end}`
}

function stateOf({ revokedAt, expiresAt }: Pick<ListedKey, 'revokedAt' | 'expiresAt'>): string {
  if (revokedAt !== null) return `revoked ${dayOf(revokedAt)}`
  if (expiresAt === null) return 'active'
  return `${expiresAt.getTime() <= Date.now() ? 'expired' : 'until'} ${minuteOf(expiresAt)}`
}

/** An overlap ends amid a day. */
function minuteOf(time: Date): string {
  return `${time.toISOString().slice(0, 16)}Z`
}

function dayOf(time: StoredKey['lastUsedAt']): string {
  return time?.toISOString().slice(0, 10) ?? 'never'
}
