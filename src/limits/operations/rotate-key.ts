import { renderNewKey } from '../../domain/documents/key-document.ts'
import { KEY_ID, type KeyPorts, MADE_KEY, newKeyText, noKey } from '../../keys/operations/keys.ts'
import { durationField } from '../../operations/fields.ts'
import { renderedOperation } from '../../operations/operation.ts'
import { conflict } from '../../operations/refuse.ts'
import { rotateLimitedKey } from '../table/rotate-limited-key.ts'

const DAY_SECONDS = 86_400

/** It stands beside limits, which move to the new key. */
export const rotateKeyOperation = renderedOperation({
  name: 'keys.rotate',
  summary: 'Makes a like key. The old one goes on for the overlap.',
  role: 'write',
  http: { method: 'POST', path: '/keys/{id}/rotate', id: 'rotateKey', status: 201, body: 'Rotation' },
  input: { id: KEY_ID, overlap: durationField('How long the old key goes on. Without it: 24h.').optional() },
  answer: MADE_KEY,
  gives: 'The new key, shown this once.',
  errors: ['not_found', 'conflict'],
  async run({ pool, newKeyPepper }: KeyPorts, { id, overlap = DAY_SECONDS }, who) {
    const done = await rotateLimitedKey(pool, id, overlap, newKeyPepper(), who)
    if (done.kind === 'unknown') throw noKey(id)
    if (done.kind === 'inactive')
      throw conflict(`Key ${id} is revoked or expired.`, 'id', 'key create makes a new one')
    return { ...done.key, formerId: id, formerEndsAt: done.formerEndsAt }
  },
  render: renderNewKey,
  changes: {
    event: 'admin.key_rotated',
    says: 'key rotated',
    log: ({ formerId, id }) => ({ key: formerId, newKey: id }),
    isAnnounced: true,
  },
  command: {
    words: 'key rotate',
    print: ({ formerId, formerEndsAt, ...key }) =>
      `${newKeyText(key)}\nThe former one, ${formerId}, is refused from ${formerEndsAt.toISOString()} on.`,
  },
})
