import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { canonicalPath } from '../../src/domain/canonical-path.ts'
import { scanRequestBody } from '../../src/gateway/bodies/request-body.ts'
import { asUtf8 } from '../../src/gateway/bodies/whole-body.ts'
import { namesInBody } from '../../src/objects/names/body-names.ts'
import { ObjectIndex } from '../../src/objects/object-index.ts'
import { Objects } from '../../src/objects/objects.ts'
import { REFUSED_PATHS } from '../../src/providers/paths/known-paths.ts'

const THEIRS = 'file-Theirs1234567'
const OWN = 'file-Own1234567890'

/** What a name that looks like an id's means in the references, where it is no object that a client makes. */
const NO_OBJECT: readonly (readonly [name: RegExp, why: string])[] = [
  [
    /(?:^|\.)(?:call|tool_call|(?:custom_)?tool_use|caller|approval_request|tool)_id$/,
    'a part of the same answer',
  ],
  [/(?:^|\.)(?:request|turn|field|tab|download|custom|part)_ids?$/, 'a part of the same request or session'],
  [/safety_checks\.id$|(?:messages|tool_calls)(?:\.content)?\.id$/, 'a part of an earlier answer'],
  [/messages\.audio\.id$|previous_message_id$/, 'an answer, of which only the provider knows'],
  [
    /(?:user|client|workspace|user_profile|vault|credential|tunnel)_ids?$/,
    "the operator's: refused by default",
  ],
  [/(?:prompt|workflow|voice)\.id$|environment_template_id$/, "the operator's, made elsewhere"],
  [
    /citations\.source$|content\.source$|^testing_criteria\.source$|grader(?:s)?\.source$/,
    'a text or its address',
  ],
  [/^model\.id$/, 'a model'],
  [/^requests\.chunk\.name$/, 'what the object is called'],
  [/^input\.id$|(?:external|reference)_id$/, 'a name that the client gives'],
]
/** Where such a name does mean an object. */
const OBJECTS_ALL_THE_SAME = /^(?:POST \/v1\/responses|POST \/v1\/responses\/\w+) input\.id$/

const index = new ObjectIndex({ selectOwners: async () => [] })
index.add('o', THEIRS, { clientId: 'acme', keyId: 'k' })
const objects = new Objects(index)
const upstream = { name: 'o', provider: 'openai', objects: 'owned', account: ['o'] } as const

async function verdictOn(path: string, body: Buffer): Promise<string> {
  const plain = asUtf8(body)
  const names = await namesInBody(path, plain, scanRequestBody(plain), 'beta')
  if (names === 'unreadable') return names
  return await objects.judge(upstream, 'POST', '/v1/nothing', '/v1/nothing', 'beta', names.ids)
}

interface Style {
  readonly key?: (name: string) => string
  readonly value?: (id: string) => string
  /** Around the members of each object; `member` is the one that leads to the id. */
  readonly object?: (member: string, depth: number) => string
  readonly bytes?: (text: string) => Buffer
}

function write(path: string, { key = JSON.stringify, value = JSON.stringify, object, bytes }: Style): Buffer {
  const names = path.split('.')
  const inside = (depth: number): string => {
    const name = names[depth]
    if (name === undefined) return value(THEIRS)
    const member = `${key(name)}:${inside(depth + 1)}`
    return object?.(member, depth) ?? `{${member}}`
  }
  const text = inside(0)
  return bytes?.(text) ?? Buffer.from(text)
}

const escaped = (text: string, hex: (code: string) => string = (code) => code) =>
  `"${[...text].map((letter) => `\\u${hex(letter.charCodeAt(0).toString(16).padStart(4, '0'))}`).join('')}"`
const SPACES = ' \t\r\n'.repeat(300)

function utf32(text: string, littleEndian: boolean): Buffer {
  const bytes = Buffer.alloc(text.length * 4)
  for (let at = 0; at < text.length; at += 1) {
    if (littleEndian) bytes.writeUInt32LE(text.charCodeAt(at), at * 4)
    else bytes.writeUInt32BE(text.charCodeAt(at), at * 4)
  }
  return bytes
}

const STYLES: Readonly<Record<string, Style>> = {
  compact: {},
  pretty: { bytes: (text) => Buffer.from(JSON.stringify(JSON.parse(text), null, 2)) },
  'many spaces': {
    key: (name) => `${SPACES}${JSON.stringify(name)}${SPACES}`,
    value: (id) => `${SPACES}"${id}"${SPACES}`,
  },
  'names in escapes': { key: (name) => escaped(name) },
  'values in escapes': { value: (id) => escaped(id) },
  'upper case in escapes': {
    key: (name) => escaped(name, (code) => code.toUpperCase()),
    value: (id) => escaped(id, (code) => code.toUpperCase()),
  },
  'other case of names': { key: (name) => JSON.stringify(name.toUpperCase()) },
  'doubled, the other first': { object: (member) => `{${member},${member.replace(THEIRS, OWN)}}` },
  'doubled, the other last': { object: (member) => `{${member.replace(THEIRS, OWN)},${member}}` },
  'null, numbers and decoys first': {
    object: (member) =>
      `{"object":"id","x":{"y":["id",{"id":null}]},${member.replace(/:[\s\S]*/, ':null')},${member}}`,
  },
  'arrays with null': {
    value: (id) => `[null,7,[],["${OWN}",["${id}"]]]`,
    object: (member) => `[null,{${member}}]`,
  },
  'a byte order mark': { bytes: (text) => Buffer.from(`\ufeff${text}`) },
  'UTF-16': { bytes: (text) => Buffer.from(text, 'utf16le') },
  'UTF-16, big end first, marked': { bytes: (text) => Buffer.from(`\ufeff${text}`, 'utf16le').swap16() },
  'UTF-32': { bytes: (text) => utf32(text, true) },
  'UTF-32, big end first': { bytes: (text) => utf32(text, false) },
  'behind 1 MB': {
    object: (member, depth) => `{${depth === 0 ? `"x":"${'x'.repeat(1e6)}",` : ''}${member}}`,
  },
}

function pathsOf(file: string): readonly (readonly [endpoint: string, path: string])[] {
  return readFileSync(`test/api-references/${file}-ids.txt`, 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [, endpoint = '', path = ''] = line.replaceAll('{id}', 'abc').split(' ')
      const isNone = NO_OBJECT.some(([name]) => name.test(path)) && !OBJECTS_ALL_THE_SAME.test(line)
      return isNone ? [] : [[endpoint, path] as const]
    })
}

describe.each([
  'openai',
  'anthropic',
  'gemini',
  'mistral',
])('where the reference of %s names an id', (file) => {
  const paths = pathsOf(file)

  test.each(
    Object.entries(STYLES),
  )(`another client’s is refused at each place in ${file}, in: %s`, async (_name, style) => {
    expect(paths.length).toBeGreaterThan(10)
    const passed: string[] = []
    for (const [endpoint, path] of paths) {
      const verdict = await verdictOn(endpoint, write(path, style))
      if (verdict !== 'hidden' && verdict !== 'unreadable') passed.push(`${endpoint} ${path}`)
    }
    expect(passed).toEqual([])
  })

  test(`the client’s own id and none at all pass at each place in ${file}`, async () => {
    const refused: string[] = []
    for (const [endpoint, path] of paths) {
      for (const value of [`"${OWN}"`, 'null', '[]', '{}']) {
        const verdict = await verdictOn(endpoint, write(path, { value: () => value }))
        if (verdict !== 'pass') refused.push(`${endpoint} ${path} ${value}`)
      }
    }
    expect(refused).toEqual([])
  })
})

/** An id that does not tell by itself what it is. */
const OPAQUE = 'Theirs1234567'
index.add('o', OPAQUE, { clientId: 'acme', keyId: 'k' })

const encoded = (text: string) =>
  [...text].map((letter) => `%${letter.charCodeAt(0).toString(16).padStart(2, '0')}`).join('')
const FULL_WIDTH = 0xfee0

/** How a path may be spelled: what stands in front of the id, the id, and what follows. */
const SPELLINGS: Readonly<Record<string, (before: string, id: string, after: string) => string>> = {
  plain: (before, id, after) => before + id + after,
  'a letter of the id encoded': (before, id, after) => before + encoded(id.slice(0, 1)) + id.slice(1) + after,
  'all letters of the id encoded': (before, id, after) => before + encoded(id) + after,
  'the id encoded twice': (before, id, after) => before + encoded(encoded(id)) + after,
  'the collection encoded': (before, id, after) =>
    `${before.replace(/[a-z](?=\w*\/$)/i, (letter) => encoded(letter))}${id}${after}`,
  'the slash encoded': (before, id, after) => `${before.slice(0, -1)}%2F${id}${after}`,
  'a backslash': (before, id, after) => `${before.slice(0, -1)}%5c${id}${after}`,
  'slashes doubled': (before, id, after) => `${before}/${id}${after.replaceAll('/', '//')}`,
  'a slash at the end': (before, id, after) => `${before}${id}${after}/`,
  'dot segments': (before, id, after) => `${before}./${id}${after.replaceAll('/', '/./')}`,
  parameters: (before, id, after) => `${before}${id};a=b${after}`,
  'other case of all': (before, id, after) => before.toUpperCase() + id.toUpperCase() + after,
  'full-width letters': (before, id, after) =>
    before + encodeURIComponent(String.fromCharCode(id.charCodeAt(0) + FULL_WIDTH)) + id.slice(1) + after,
  // Not before one of Google's methods, where a space is a part of the name.
  'spaces around the id': (before, id, after) => `${before}%20${id}${after[0] === ':' ? '' : '%20'}${after}`,
}

/**
 * The outermost id in each path of the reference, to which all that stands below belongs; without paths that are refused
 * whatever they name.
 */
function placesOf(provider: 'openai' | 'anthropic' | 'gemini') {
  const lines = readFileSync(`test/api-references/${provider}.txt`, 'utf8').trim().split('\n').slice(1)
  return lines.flatMap((line) => {
    const [method = '', path = ''] = line.split(' ')
    const [before = '', ...behind] = path.split('{id}')
    const isOther = behind.length === 0 || NO_OBJECT_IN_PATH.some(([name]) => name.test(before))
    if (isOther || REFUSED_PATHS.find(provider, method, path.replaceAll('{id}', 'Own')) !== null) return []
    return [{ method, before, after: behind.join('Own') }]
  })
}

/** What stands in a path where an id could, and is no object that a client makes. */
const NO_OBJECT_IN_PATH: readonly (readonly [before: RegExp, why: string])[] = [
  [/\/(?:models|dynamic)\/$/, 'a model'],
  [/\/(?:generatedFiles|ragStores)\/$/, 'of which only operations are read, by ids of their own'],
  [/\/safety\/\w+\/$/, "the operator's"],
]

describe.each(['openai', 'anthropic', 'gemini'] as const)('where a path of %s names an id', (provider) => {
  const places = placesOf(provider)

  test.each(
    Object.entries(SPELLINGS),
  )(`another client’s is refused at each place in the paths of ${provider}, with: %s`, async (_name, spell) => {
    expect(places.length).toBeGreaterThan(50)
    const passed: string[] = []
    for (const { method, before, after } of places) {
      const path = spell(before, OPAQUE, after)
      const canonical = canonicalPath(path)
      const verdict =
        canonical === null
          ? 'unreadable'
          : await objects.judge({ ...upstream, provider }, method, canonical, path, 'beta', [])
      if (verdict === 'pass') passed.push(`${method} ${before}…${after}`)
    }
    expect(passed).toEqual([])
  })
})
