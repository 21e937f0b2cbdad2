import {
  shownChoice,
  shownDocument,
  shownList,
  shownMoment,
  shownMomentOrNull,
  shownText,
} from '../../operations/answers.ts'
import { choiceField, durationField, LIST_PART, nameField, textField } from '../../operations/fields.ts'
import {
  type Chapter,
  changeOf,
  OPERATOR_ROLES,
  Part,
  renderedOperation,
} from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { badCursor, conflict, invalid, notFound } from '../../operations/refuse.ts'
import {
  createOperatorToken,
  MEMBER,
  type NewOperatorToken,
  type OperatorToken,
  PERSON,
  revokeOperatorToken,
  selectOperatorTokens,
} from '../tokens/operator-tokens.ts'
import type { KeyPorts } from './keys.ts'

/** The name of the token of the environment, which the audit has for it. */
export const ENVIRONMENT_TOKEN = 'ADMIN_TOKEN'

const DEFAULT_SECONDS = 90 * 86_400

const TOKEN = {
  id: shownText('The id of the token, which begins with tok_.'),
  name: shownText('Its name, which the audit has.'),
  role: shownChoice(
    OPERATOR_ROLES,
    'read: looks. write: changes, too. admin: money, tokens and stores, too.',
  ),
  prefix: shownText('The beginning of the token, to tell it by.'),
  created_at: shownMoment('The time at which it was made.'),
  expires_at: shownMoment('The end of the token.'),
}

const SHOWN_TOKEN = shownDocument('OperatorToken', {
  ...TOKEN,
  revoked_at: shownMomentOrNull('null: it is not revoked.'),
})

export const createTokenOperation = renderedOperation({
  name: 'tokens.create',
  summary: 'Makes a token for an operator. It is shown this once.',
  role: 'admin',
  http: { method: 'POST', path: '/tokens', id: 'createToken', status: 201, body: 'NewOperatorToken' },
  input: {
    name: nameField('Who or what uses it. The audit has this name.'),
    role: choiceField(
      OPERATOR_ROLES,
      'read: looks. write: changes, too. admin: money, tokens and stores, too.',
      'role',
    ),
    expires_in: durationField('The token ends after this time. Without it: 90d.', 'some').optional(),
  },
  check({ name }) {
    if (name === ENVIRONMENT_TOKEN) throw invalid('name', 'must not be that of the variable')
    for (const signedIn of [PERSON, MEMBER])
      if (name.startsWith(signedIn))
        throw invalid('name', `must not begin with ${signedIn}, as those who sign in do`)
  },
  answer: shownDocument('MadeOperatorToken', {
    ...TOKEN,
    token: shownText('The token itself: this is the only time it is shown.'),
  }),
  gives: 'The token, shown this once.',
  errors: ['conflict'],
  async run({ pool, newKeyPepper }: KeyPorts, { name, role, expires_in: seconds = DEFAULT_SECONDS }) {
    const made = await createOperatorToken(pool, { name, role, expiresInSeconds: seconds }, newKeyPepper())
    if (made === null)
      throw conflict(`There is already a token named ${name}.`, 'name', 'token revoke ends it')
    return made
  },
  render: ({ revokedAt: _, token, ...made }: NewOperatorToken) => ({ ...renderBase(made), token }),
  changes: changeOf('admin.token_created', 'token of an operator created', 'token'),
  command: {
    words: 'token create',
    print: ({ token, name, role, expiresAt }) =>
      `${token}\n\nThe token ${name} of the role ${role}, shown this once. It ends on ${dayOf(expiresAt)}.`,
  },
})

export const listTokensOperation = renderedOperation({
  name: 'tokens.list',
  summary: 'Shows the tokens of operators, without their texts.',
  role: 'read',
  http: { method: 'GET', path: '/tokens', id: 'listTokens' },
  input: LIST_PART,
  answer: shownList(SHOWN_TOKEN),
  gives: 'The tokens, by name.',
  async run({ pool }: Ports, { limit = null, cursor = null }) {
    const page = await selectOperatorTokens(pool, { limit, cursor })
    if (page === null) throw badCursor()
    return new Part(page.items, page.next)
  },
  render: (tokens: readonly OperatorToken[]) => tokens.map(renderToken),
  command: {
    words: 'token list',
    print: {
      empty: 'There is no token but ADMIN_TOKEN. Make one: token create --name NAME --role read',
      columns: [
        { heading: 'NAME', cell: ({ name }) => name },
        { heading: 'ROLE', cell: ({ role }) => role },
        { heading: 'TOKEN', cell: ({ prefix }) => `${prefix}...` },
        { heading: 'STATE', cell: stateOf },
        { heading: 'ID', cell: ({ id }) => id },
      ],
    },
  },
})

export const revokeTokenOperation = renderedOperation({
  name: 'tokens.revoke',
  summary: 'Refuses a token of an operator from now on, within a second.',
  role: 'admin',
  http: { method: 'POST', path: '/tokens/{id}/revoke', id: 'revokeToken' },
  input: { id: textField('The id of the token, or its name.', 'id') },
  answer: SHOWN_TOKEN,
  gives: 'The token.',
  errors: ['not_found'],
  async run({ pool }: Ports, { id }) {
    const revoked = await revokeOperatorToken(pool, id)
    if (revoked === null) throw notFound(`There is no token ${id}.`, undefined, 'token list shows them')
    return revoked
  },
  render: renderToken,
  changes: changeOf('admin.token_revoked', 'token of an operator revoked', 'token'),
  command: { words: 'token revoke', print: ({ name }) => `The token ${name} is revoked.` },
})

export const TOKEN_CHAPTER: Chapter<KeyPorts> = {
  words: 'token',
  about: 'The tokens that operators ask with.',
  operations: [createTokenOperation, listTokensOperation, revokeTokenOperation],
}

function renderToken({ revokedAt, ...token }: OperatorToken) {
  return { ...renderBase(token), revoked_at: revokedAt?.toISOString() ?? null }
}

function renderBase({ id, name, role, prefix, createdAt, expiresAt }: Omit<OperatorToken, 'revokedAt'>) {
  return { id, name, role, prefix, created_at: createdAt.toISOString(), expires_at: expiresAt.toISOString() }
}

function stateOf({ revokedAt, expiresAt }: OperatorToken): string {
  if (revokedAt !== null) return `revoked ${dayOf(revokedAt)}`
  return `${expiresAt.getTime() <= Date.now() ? 'expired' : 'until'} ${dayOf(expiresAt)}`
}

function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10)
}
