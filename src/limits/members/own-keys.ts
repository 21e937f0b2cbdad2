import { z } from 'zod'
import { renderKey, renderNewKey } from '../../domain/documents/key-document.ts'
import { isWithinModels } from '../../domain/member-policy.ts'
import { lockKeyVersion } from '../../keys/key-version.ts'
import { createClientKey, revokeKey } from '../../keys/keys.ts'
import { KEY_ID, MADE_KEY, SHOWN_KEY } from '../../keys/operations/keys.ts'
import { budgetField, durationField, modelField, nameField } from '../../operations/fields.ts'
import { announcedChange, FOR_THE_PAGE, renderedOperation } from '../../operations/operation.ts'
import type { AskingMember, ClientPorts } from '../../operations/ports.ts'
import { conflict, invalid, notFound } from '../../operations/refuse.ts'
import { setLimits } from '../table/change-limits.ts'
import { takeLimitVersion } from '../table/limit-rows.ts'
import { rotateLimitedKey } from '../table/rotate-limited-key.ts'
import { countKeysOfToday, isStillMember, type MemberKey, selectMemberKeys } from './members.ts'
import { budgetOf } from './sign-in-member.ts'

export interface MemberPorts extends ClientPorts {
  /** The pepper that new keys are hashed with. */
  newKeyPepper(): string
}

const DAY_SECONDS = 86_400
/** Keys stay in the table for ever, so a program of a member must not make them without an end. */
const MOST_A_DAY = 100

export const createOwnKey = renderedOperation({
  name: 'own.keys.create',
  summary: 'Makes a key of the member. It is shown this once.',
  description: 'It ends with the days of self_service, unless the member signs in again before.',
  role: 'member',
  http: { method: 'POST', path: '/keys', id: 'createOwnKey', status: 201, body: 'NewOwnKey' },
  input: {
    name: nameField('A label to tell keys apart.').default('default'),
    models: z
      .array(
        modelField('A name, or a beginning of names followed by *.'),
        'must be a list of names of models',
      )
      .min(1, 'must name a model, or be left out for all that the group allows')
      .max(1_000, 'must be at most 1,000 names')
      .describe('The models that the key may use. Without it: all that the group allows.')
      .optional(),
    budget_usd: budgetField(
      'US dollars that calls with the key may cost a month. Without it: no such limit.',
    ).optional(),
  },
  answer: MADE_KEY,
  gives: 'The key, shown this once.',
  errors: ['conflict'],
  async run(ports: MemberPorts, { name, models, budget_usd: amount }, who) {
    const { pool, client } = ports
    const { member, keys } = await holdMember(ports)
    await requirePace(ports)
    const { mostKeys, models: allowed } = member.policy
    const asked = models === undefined ? allowed : [...new Set(models)]
    if (!isWithinModels(asked, allowed))
      throw invalid('models', `must be of those that the group allows: ${allowed?.join(', ')}`)
    if (keys.filter(({ isLasting }) => isLasting).length >= mostKeys)
      throw conflict(`A member of ${member.group.name} may have ${mostKeys} keys. Revoke one first.`)
    const order = { client: client.name, name, models: asked, expiresInSeconds: null, isOfMember: true }
    const made = await createClientKey(pool, order, ports.newKeyPepper())
    if (made === null) throw memberNoMore()
    if (amount !== undefined) {
      const { scope, order: budgetOrder } = budgetOf(client.id, amount)
      await setLimits(pool, { ...scope, keyId: made.id }, [budgetOrder], who)
    }
    return made
  },
  render: renderNewKey,
  changes: announcedChange('admin.key_created', 'key created by its member', 'key'),
  command: FOR_THE_PAGE,
})

export const rotateOwnKey = renderedOperation({
  name: 'own.keys.rotate',
  summary: 'Makes a like key of the member. The old one goes on for the overlap.',
  role: 'member',
  http: { method: 'POST', path: '/keys/{id}/rotate', id: 'rotateOwnKey', status: 201, body: 'OwnRotation' },
  input: {
    id: KEY_ID,
    overlap: durationField('How long the old key goes on, 24h at most. Without it: 24h.').optional(),
  },
  check({ overlap = DAY_SECONDS }) {
    if (overlap > DAY_SECONDS) throw invalid('overlap', 'must be 24h at most')
  },
  answer: MADE_KEY,
  gives: 'The new key, shown this once.',
  errors: ['not_found', 'conflict'],
  async run(ports: MemberPorts, { id, overlap = DAY_SECONDS }, who) {
    const { member, keys } = await holdMember(ports)
    const old = ownKey(keys, id)
    await requirePace(ports)
    const { mostKeys, models: allowed } = member.policy
    if (!old.isLasting) throw conflict('This key was rotated already, and ends by itself.', 'id')
    if (!isWithinModels(old.models, allowed))
      throw conflict('The group does not allow all models of this key any more. Make another one.', 'id')
    // Or else keys that go on for a day would be a way around how many there may be.
    if (overlap > 0 && keys.filter(({ isLasting }) => !isLasting).length >= mostKeys)
      throw conflict(
        `${mostKeys} keys that were rotated go on already. Rotate without an overlap: 0s.`,
        'overlap',
      )
    const done = await rotateLimitedKey(ports.pool, id, overlap, ports.newKeyPepper(), who)
    if (done.kind !== 'rotated') throw noOwnKey(id)
    return { ...done.key, formerId: id }
  },
  render: renderNewKey,
  changes: {
    event: 'admin.key_rotated',
    says: 'key rotated by its member',
    log: ({ formerId, id }) => ({ key: formerId, newKey: id }),
    isAnnounced: true,
  },
  command: FOR_THE_PAGE,
})

export const revokeOwnKey = renderedOperation({
  name: 'own.keys.revoke',
  summary: 'Refuses a key of the member from now on, within a second.',
  role: 'member',
  http: { method: 'POST', path: '/keys/{id}/revoke', id: 'revokeOwnKey' },
  input: { id: KEY_ID },
  answer: SHOWN_KEY,
  gives: 'The key.',
  errors: ['not_found'],
  async run(ports: MemberPorts, { id }) {
    const { keys } = await holdMember(ports)
    const revoked = await revokeKey(ports.pool, ownKey(keys, id).id)
    if (revoked === null) throw noOwnKey(id)
    return revoked
  },
  render: renderKey,
  changes: announcedChange('admin.key_revoked', 'key revoked by its member', 'key'),
  command: FOR_THE_PAGE,
})

/**
 * The member and the keys that it made, within the transaction of an operation: no other change of keys, clients or groups
 * comes between, so of two orders for the last key that there may be, one sees the other's.
 *
 * @throws {GatewayError} Where it is none any more.
 */
export async function holdMember({ pool, client }: ClientPorts) {
  await takeLimitVersion(pool) // before any key, as in all changes of both
  await lockKeyVersion(pool)
  const { member } = client
  if (member === null || !(await isStillMember(pool, client, member))) throw memberNoMore()
  const keys = (await selectMemberKeys(pool, [client.id])).get(client.id) ?? []
  return { member, keys } satisfies { member: AskingMember; keys: readonly MemberKey[] }
}

export function memberNoMore() {
  return conflict('Your group changed since you signed in. Sign in again.')
}

async function requirePace({ pool, client }: ClientPorts): Promise<void> {
  if ((await countKeysOfToday(pool, client.id)) >= MOST_A_DAY)
    throw conflict(`You made ${MOST_A_DAY} keys within a day, as many as may be. Try again tomorrow.`)
}

/** One that is of another says the same as one that is not there. */
function ownKey(keys: readonly MemberKey[], id: string): MemberKey {
  const key = keys.find((one) => one.id === id)
  if (key === undefined) throw noOwnKey(id)
  return key
}

function noOwnKey(id: string) {
  return notFound(`You have made no key ${id} that is in force.`, 'id')
}
