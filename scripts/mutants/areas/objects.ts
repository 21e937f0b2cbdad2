import type { Area } from '../mutant.ts'

export const objects: Area = {
  name: 'objects',
  tests: ['test/objects'],
  mutants: [
    {
      find: 'return first?.clientId === clientId ? NONE : names.map(({ id }) => id)',
      replace: 'return first !== null ? NONE : names.map(({ id }) => id)',
      says: 'an object of another client is shown by its path',
      test: 'test/objects/owned-objects.test.ts',
    },
    {
      find: "    if (method === 'DELETE' && path.collection !== null && path.names.length === 0) return 'hidden'\n",
      replace: '',
      says: 'one client deletes the objects of all',
      test: 'test/objects/owned-objects.test.ts',
    },
    {
      find: "() => 'unavailable',",
      replace: "() => 'pass',",
      says: 'with Postgres away every object is open',
      test: 'test/objects/elsewhere.test.ts',
    },
    {
      find: '    if (inBody.length > 0) ids = [...ids, ...inBody.flatMap(readings)]\n',
      replace: '',
      says: 'an object of another client is used by naming it in a body',
      test: 'test/objects/owned-objects.test.ts',
    },
    {
      find: "if (inQuery === null) return 'unreadable'",
      replace: "if (inQuery === null) return 'pass'",
      says: 'a query that cannot be read names whose object it likes',
      test: 'test/objects/owned-objects.test.ts',
    },
    {
      find: "    if (isList && upstream.objects === 'owned') return 'hidden'\n",
      replace: '',
      says: 'a handshake that is answered as a GET lists the objects of all',
      test: 'test/objects/elsewhere.test.ts',
    },
    {
      find: 'if (!this.#owned.has(key)) this.#keep(key, owner)',
      replace: 'this.#keep(key, owner)',
      says: 'who makes an object under a known id takes it over',
    },
    {
      find: 'const key = keyOf(upstream, foldObjectId(id))',
      replace: 'const key = keyOf(upstream, id)',
      says: 'an id in other letters is another object',
    },
    {
      find: '    if (owner.clientId !== clientId) return false\n    own = true',
      replace: '    own = true',
      says: 'a list shows the objects of all',
      test: 'test/objects/owned-objects.test.ts',
    },
    {
      find: "return own || shows === 'own_and_nobodys'",
      replace: 'return true',
      says: 'a list shows what the account has by other ways',
      test: 'test/objects/owned-objects.test.ts',
    },
    {
      find: '     on conflict do nothing\n     returning upstream, folded_id',
      replace:
        '     on conflict (upstream, folded_id) do update set client_id = excluded.client_id\n     returning upstream, folded_id',
      says: 'who makes an object under a known id has it in all gateways',
      test: 'test/rollup/object-owners.test.ts',
    },
  ],
}
