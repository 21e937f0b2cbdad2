import { describe, expect, test } from 'vitest'
import { cutPage, readListPage } from '../../src/objects/lists/list-filter.ts'

/** The page with only what is named in `shown`. */
async function cut(text: string, shown: readonly string[]): Promise<string | null> {
  const page = await readListPage(Buffer.from(text))
  if (page === null) return null
  return cutPage(page, (ids) => ids.some((id) => shown.includes(id))).body.toString()
}

describe('a page without others’ objects', () => {
  test.each([
    ['{"data":[{"id":"a"},{"id":"b"},{"id":"c"}]}', ['a', 'c'], '{"data":[{"id":"a"},{"id":"c"}]}'],
    ['{"data": [ {"id":"a"} ,\n {"id":"b"} ] }', ['b'], '{"data": [ {"id":"b"} ] }'],
    ['{"data": [ {"id":"a"} ,\n {"id":"b"} ] }', ['a'], '{"data": [ {"id":"a"} ] }'],
    ['{"data":[{"id":"a"}]}', [], '{"data":[]}'],
    ['{"data":[{"id":"a"}]}', ['a'], '{"data":[{"id":"a"}]}'],
    ['[{"id":"a"},{"id":"b"}]', ['b'], '[{"id":"b"}]'],
    ['{"data":["a","b"]}', ['b'], '{"data":["b"]}'],
    ['{"data":[{"x":1},null,7,{"id":"a"}]}', ['a'], '{"data":[{"id":"a"}]}'],
    ['{"files":[{"name":"files/a"},{"name":"files/b"}]}', ['b'], '{"files":[{"name":"files/b"}]}'],
    [
      '{"data":[{"id":"a"},{"id":"b"}],"first_id":"a","last_id":"b","has_more":true}',
      ['b'],
      '{"data":[{"id":"b"}],"first_id":"b","last_id":"b","has_more":true}',
    ],
    ['{"data":[{"id":"a"}],"last_id":"a"}', [], '{"data":[],"last_id":null}'],
    ['{"data":[{"id":"a"}],"data":[{"id":"b"}]}', ['b'], '{"data":[],"data":[{"id":"b"}]}'],
    ['{}', [], '{}'],
    [
      '{"id":"a","choices":[{"x":1}],"usage":{"d":[1]}}',
      [],
      '{"id":"a","choices":[{"x":1}],"usage":{"d":[1]}}',
    ],
    ['{"data":[{"id":"\\u0061"}]}', ['a'], '{"data":[{"id":"\\u0061"}]}'],
  ])('a page of %s without others’ objects, with %j, is %s', async (text, shown, expected) => {
    expect(await cut(text, shown)).toBe(expected)
  })

  test.each([
    '',
    'null',
    '<html>',
    '{"data":[',
    '{"data":[{]}',
    '{"data":[{"id":"a"}]} x',
    '{"page":{"data":[{"id":"a"}]}}',
  ])('%s is not a page, and is not shown', async (text) => {
    expect(await cut(text, ['a'])).toBeNull()
  })

  test('a page of ten thousand objects keeps the right ones', async () => {
    const items = Array.from({ length: 10_000 }, (_, index) => ({
      id: `f${index}`,
      filename: 'x'.repeat(100),
    }))
    const page = JSON.stringify({ data: items })
    const text = await cut(page, ['f17', 'f9999'])
    expect(JSON.parse(text ?? '').data).toEqual([items[17], items[9_999]])
  })
})
