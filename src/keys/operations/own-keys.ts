import { z } from 'zod'
import { renderKey } from '../../domain/documents/key-document.ts'
import {
  shownCount,
  shownDocument,
  shownFlag,
  shownList,
  shownMoment,
  shownText,
} from '../../operations/answers.ts'
import { LIST_PART } from '../../operations/fields.ts'
import { FOR_THE_PAGE, operation, Part, renderedOperation } from '../../operations/operation.ts'
import type { AskingMember, ClientPorts } from '../../operations/ports.ts'
import { badCursor } from '../../operations/refuse.ts'
import { type StoredKey, selectKeyPage } from '../keys.ts'
import { SHOWN_KEY } from './keys.ts'

export const ownAccount = operation({
  name: 'own.account',
  summary: 'Says whose figures the token shows.',
  role: 'client',
  http: { method: 'GET', path: '/account', id: 'getOwnAccount' },
  input: {},
  answer: shownDocument('OwnAccount', {
    client: shownText('The name of the client.'),
    key: shownDocument('OwnKey', {
      id: shownText('The id of the key.'),
      name: shownText('Its label.'),
    })
      .nullable()
      .describe('The key that it was exchanged for. null: an operator made it, or a member signed in.'),
    token_ends_at: shownMoment('The end of the token.'),
    member: shownDocument('OwnMembership', {
      group: shownText('The name of the group.'),
      owner: shownFlag('The member owns the group, too.'),
      most_keys: shownCount('Keys that it may have.'),
      models: shownList(z.string(), 'Models that its keys may use. null: every one.').nullable(),
      keys_end_at: shownMoment('Its keys end then, unless it signs in before.'),
    })
      .nullable()
      .describe('What the group allows. null: the token can only read.'),
  }),
  gives: 'The client.',
  command: FOR_THE_PAGE,
  async run({ client: { name, key, tokenEndsAt, member } }: ClientPorts) {
    return { client: name, key, token_ends_at: tokenEndsAt.toISOString(), member: renderMember(member) }
  },
})

export const ownKeys = renderedOperation({
  name: 'own.keys',
  summary: 'Shows the keys of the client, without their secrets.',
  role: 'client',
  http: { method: 'GET', path: '/keys', id: 'listOwnKeys' },
  input: LIST_PART,
  answer: shownList(SHOWN_KEY),
  gives: 'The keys, oldest first, 100 where limit does not say otherwise.',
  command: FOR_THE_PAGE,
  async run({ read, client }: ClientPorts, { limit = 100, cursor = null }) {
    const page = await read((pool) => selectKeyPage(pool, client.name, { limit, cursor }))
    if (page === null) throw badCursor()
    return new Part(page.items, page.next)
  },
  render: (keys: readonly StoredKey[]) => keys.map(renderKey),
})

function renderMember(member: AskingMember | null) {
  if (member === null) return null
  const { group, isOwner, keysEndAt, policy } = member
  return {
    group: group.name,
    owner: isOwner,
    most_keys: policy.mostKeys,
    models: policy.models,
    keys_end_at: keysEndAt.toISOString(),
  }
}
