import { expect, test } from 'vitest'
import { ObjectIndex } from '../../src/objects/object-index.ts'

test('the client that makes an id first keeps it, also if another makes it again, in whatever letters', () => {
  const index = new ObjectIndex({ selectOwners: async () => [] })
  const owner = { clientId: 'cli_a', keyId: 'key_a' }
  index.add('openai', 'File-1', owner)
  for (const id of ['File-1', 'file-1', 'FILE-1']) {
    index.add('openai', id, { clientId: 'cli_b', keyId: 'key_b' })
    expect(index.findKnown(['openai'], id)).toEqual(owner)
  }
  expect(index.findKnown(['another'], 'File-1')).toBeNull()
})
