import {
  shownDocument,
  shownList,
  shownMoment,
  shownMomentOrNull,
  shownText,
  shownTextOrNull,
} from '../../operations/answers.ts'
import { durationField, textField } from '../../operations/fields.ts'
import { type Chapter, changeOf, renderedOperation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { invalid, noClient, notFound } from '../../operations/refuse.ts'
import {
  createPortalToken,
  type NewPortalToken,
  type PortalToken,
  revokePortalToken,
  selectPortalTokens,
} from '../tokens/portal-tokens.ts'
import { getClient } from './clients.ts'
import type { KeyPorts } from './keys.ts'

const HOUR_SECONDS = 3_600
const MOST_SECONDS = 24 * HOUR_SECONDS

const TOKEN = {
  id: shownText('The id of the token, which begins with ptk_.'),
  client: shownText('The name of the client.'),
  key: shownTextOrNull(
    'The id of the key that it was exchanged for. null: an operator made it, or a member signed in.',
  ),
  prefix: shownText('The beginning of the token, to tell it by.'),
  created_at: shownMoment('The time at which it was made.'),
  expires_at: shownMoment('The end of the token.'),
}

const SHOWN_TOKEN = shownDocument('PortalToken', {
  ...TOKEN,
  revoked_at: shownMomentOrNull('null: it is not revoked.'),
})

const CLIENT_ID = textField('The id of the client, or its name.')

export const createPortalTokenOperation = renderedOperation({
  name: 'portal-tokens.create',
  summary: "Makes a token that shows a client its own figures, for the clients' page in a page of yours.",
  description: 'It goes behind # in the address of the page: https://portal.example.com/portal#token=TOKEN',
  role: 'write',
  http: {
    method: 'POST',
    path: '/clients/{id}/portal-tokens',
    id: 'createPortalToken',
    status: 201,
    body: 'NewPortalToken',
  },
  input: {
    id: CLIENT_ID,
    expires_in: durationField(
      'The token ends after this time, 24h at most. Without it: 1h.',
      'some',
    ).optional(),
  },
  check({ expires_in: seconds = HOUR_SECONDS }) {
    if (seconds > MOST_SECONDS) throw invalid('expires_in', 'must be 24h at most')
  },
  answer: shownDocument('MadePortalToken', {
    ...TOKEN,
    token: shownText('The token itself: this is the only time it is shown.'),
  }),
  gives: 'The token, shown this once.',
  errors: ['not_found'],
  async run({ pool, newKeyPepper }: KeyPorts, { id, expires_in: seconds = HOUR_SECONDS }) {
    const client = await getClient(pool, id)
    const order = { clientId: client.id, keyId: null, expiresInSeconds: seconds }
    const made = await createPortalToken(pool, order, newKeyPepper())
    if (made === null) throw noClient(client.name)
    return made
  },
  render: ({ token, ...made }: NewPortalToken) => ({ ...renderBase(made), token }),
  changes: changeOf('admin.token_created', 'token for a client made', 'token'),
  command: {
    words: 'portal token',
    options: { id: '<client>' },
    print: ({ token, client, expiresAt }) =>
      `${token}\n\nIt shows ${client} its own figures, and ends at ${expiresAt.toISOString().slice(0, 16)}Z.`,
  },
})

export const listPortalTokensOperation = renderedOperation({
  name: 'portal-tokens.list',
  summary: 'Shows the tokens that show a client its own figures.',
  role: 'read',
  http: { method: 'GET', path: '/clients/{id}/portal-tokens', id: 'listPortalTokens' },
  input: { id: CLIENT_ID },
  answer: shownList(SHOWN_TOKEN),
  gives: 'The newest 1,000, as far as they have not ended a day ago.',
  errors: ['not_found'],
  run: async ({ pool }: Ports, { id }) => await selectPortalTokens(pool, (await getClient(pool, id)).id),
  render: (tokens: readonly PortalToken[]) => tokens.map(renderToken),
  command: {
    words: 'portal list',
    options: { id: '<client>' },
    print: {
      empty: 'It has none.',
      columns: [
        { heading: 'TOKEN', cell: ({ prefix }) => `${prefix}...` },
        {
          heading: 'MADE FOR',
          cell: ({ keyId, isOfMember }) => keyId ?? (isOfMember ? 'a member' : 'an operator'),
        },
        { heading: 'STATE', cell: stateOf },
        { heading: 'ID', cell: ({ id }) => id },
      ],
    },
  },
})

export const revokePortalTokenOperation = renderedOperation({
  name: 'portal-tokens.revoke',
  summary: 'Refuses such a token from now on, within a second.',
  role: 'write',
  http: { method: 'POST', path: '/portal-tokens/{id}/revoke', id: 'revokePortalToken' },
  input: { id: textField('The id of the token.', 'id') },
  answer: SHOWN_TOKEN,
  gives: 'The token.',
  errors: ['not_found'],
  async run({ pool }: Ports, { id }) {
    const revoked = await revokePortalToken(pool, id)
    if (revoked === null) throw notFound(`There is no token ${id}.`, undefined, 'portal list shows them')
    return revoked
  },
  render: renderToken,
  changes: changeOf('admin.token_revoked', 'token for a client revoked', 'token'),
  command: { words: 'portal revoke', print: ({ id }) => `The token ${id} is revoked.` },
})

export const PORTAL_CHAPTER: Chapter<KeyPorts> = {
  words: 'portal',
  about: "Tokens for the clients' page.",
  operations: [createPortalTokenOperation, listPortalTokensOperation, revokePortalTokenOperation],
}

function renderToken({ revokedAt, ...token }: PortalToken) {
  return { ...renderBase(token), revoked_at: revokedAt?.toISOString() ?? null }
}

function renderBase({
  id,
  client,
  keyId,
  prefix,
  createdAt,
  expiresAt,
}: Omit<PortalToken, 'revokedAt' | 'isOfMember'>) {
  return {
    id,
    client,
    key: keyId,
    prefix,
    created_at: createdAt.toISOString(),
    expires_at: expiresAt.toISOString(),
  }
}

function stateOf({ revokedAt, expiresAt }: PortalToken): string {
  if (revokedAt !== null) return `revoked ${revokedAt.toISOString().slice(0, 16)}Z`
  const end = `${expiresAt.toISOString().slice(0, 16)}Z`
  return expiresAt.getTime() <= Date.now() ? `ended ${end}` : `until ${end}`
}
