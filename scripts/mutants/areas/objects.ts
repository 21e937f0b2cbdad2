import type { Area } from '../mutant.ts'

export const objects: Area = {
  name: 'objects',
  tests: ['test/objects'],
  mutants: [
    {
      file: 'src/objects/objects.ts',
      find: 'return first?.clientId === clientId ? NONE : names.map(({ id }) => id)',
      replace: 'return first !== null ? NONE : names.map(({ id }) => id)',
      says: 'an object of another client is shown by its path',
    },
    {
      file: 'src/objects/objects.ts',
      find: "    if (method === 'DELETE' && path.collection !== null && path.names.length === 0) return 'hidden'\n",
      replace: '',
      says: 'one client deletes the objects of all',
    },
    {
      file: 'src/objects/objects.ts',
      find: "() => 'unavailable',",
      replace: "() => 'pass',",
      says: 'with Postgres away every object is open',
    },
    {
      file: 'src/objects/objects.ts',
      find: '    if (inBody.length > 0) ids = [...ids, ...inBody.flatMap(readings)]\n',
      replace: '',
      says: 'an object of another client is used by naming it in a body',
    },
    {
      file: 'src/objects/objects.ts',
      find: "if (inQuery === null) return 'unreadable'",
      replace: "if (inQuery === null) return 'pass'",
      says: 'a query that cannot be read names whose object it likes',
    },
    {
      file: 'src/objects/objects.ts',
      find: "    if (isList && upstream.objects === 'owned') return 'hidden'\n",
      replace: '',
      says: 'a handshake that is answered as a GET lists the objects of all',
    },
    {
      file: 'src/objects/object-index.ts',
      find: 'if (!this.#owned.has(key)) this.#keep(key, owner)',
      replace: 'this.#keep(key, owner)',
      says: 'who makes an object under a known id takes it over',
    },
    {
      file: 'src/objects/object-index.ts',
      find: 'const key = keyOf(upstream, foldObjectId(id))',
      replace: 'const key = keyOf(upstream, id)',
      says: 'an id in other letters is another object',
    },
  ],
}
