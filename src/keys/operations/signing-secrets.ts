import { shownDocument, shownText } from '../../operations/answers.ts'
import { renderedOperation } from '../../operations/operation.ts'
import { conflict } from '../../operations/refuse.ts'
import { makeSigningSecret, type NewSigningSecret } from '../signing-secrets.ts'
import { KEY_ID, type KeyPorts, noKey } from './keys.ts'

export const makeSigningSecretOperation = renderedOperation({
  name: 'keys.sigv4',
  summary: "Makes what AWS's libraries sign with, for a key. It is shown this once.",
  description:
    'Calls with it are calls of the key, with its models and limits, and end with it. The one that the key had before ends.',
  role: 'write',
  http: { method: 'POST', path: '/keys/{id}/sigv4', id: 'makeSigningSecret', status: 201 },
  input: { id: KEY_ID },
  answer: shownDocument('SigningSecret', {
    access_key_id: shownText('The id of the key.'),
    secret_access_key: shownText('The secret: this is the only time it is shown.'),
    client: shownText('The name of the client.'),
  }),
  gives: 'The access key id and its secret, shown this once.',
  errors: ['not_found', 'conflict'],
  async run({ pool, newKeyPepper }: KeyPorts, { id }) {
    const made = await makeSigningSecret(pool, id, newKeyPepper())
    if (made === 'unknown') throw noKey(id)
    if (made === 'inactive')
      throw conflict(`Key ${id} is revoked or expired.`, 'id', 'key create makes a new one')
    return made
  },
  render: ({ accessKeyId, secretAccessKey, client }: NewSigningSecret) => ({
    access_key_id: accessKeyId,
    secret_access_key: secretAccessKey,
    client,
  }),
  changes: {
    event: 'admin.signing_secret_made',
    says: 'signing secret made',
    log: ({ accessKeyId }) => ({ key: accessKeyId }),
    isAnnounced: true,
  },
  command: {
    words: 'key sigv4',
    print: ({ accessKeyId, secretAccessKey, client }) =>
      `AWS_ACCESS_KEY_ID=${accessKeyId}\nAWS_SECRET_ACCESS_KEY=${secretAccessKey}\n\nFor AWS's libraries, as client ${client}. The secret is shown this once; the one before has ended.`,
  },
})
