import { describe, expect, test } from 'vitest'
import { idsInBody } from '../../src/objects/body-ids.ts'
import { readObjectPath } from '../../src/objects/object-path.ts'

const RESPONSES = readObjectPath('/v1/responses')
const CHAT = readObjectPath('/v1/chat/completions')
const BATCHES = readObjectPath('/v1/batches')

const idsOf = async (body: string, path = RESPONSES) => await idsInBody(path, Buffer.from(body))

describe('the ids that a body names', () => {
  test.each([
    ['{"previous_response_id":"resp_1"}', ['resp_1']],
    ['{"file_ids":["file-1","file-2"], "x":["file-3"]}', ['file-1', 'file-2']],
    ['{"file_ids": [ "file-1" , "file-2" ] }', ['file-1', 'file-2']],
    ['{"conversation":{"meta":1,"id":"conv_1"}}', ['conv_1']],
    ['{"conversation":null,"container":{"type":"auto"}}', []],
    ['{"input":"say \\"file_id\\": \\"file-1\\""}', []],
    ['{"my_file_id":"file-1"}', []],
    ['{"file_id":"f\\u0069le-1"}', ['file-1']],
    ['{"file_id":17,"vector_store_ids":"vs_abc"}', ['vs_abc']],
    ['{"file_id"', []],
    ['{"file_id":"file-1', []],
    ['', []],
  ])('the ids in the body %s are %j', async (body, ids) => {
    expect(await idsOf(body)).toEqual(ids)
  })

  test('the ids of a body are found where letters of a name are written in escapes', async () => {
    expect(await idsOf('{"\\u0066ile_id":"file-1"}')).toEqual(['file-1'])
    // An escaped backslash: the text is "\\u0066ile_id" itself.
    expect(await idsOf('{"\\\\u0066ile_id":"file-1"}')).toEqual([])
    expect(await idsOf('{"text":"caf\\u00e9 \\u003c\\u0026"}')).toEqual([])
  })

  test('the ids of a body are those that the endpoint takes', async () => {
    expect(await idsOf('{"input_file_id":"file-1"}', CHAT)).toEqual([])
    expect(await idsOf('{"input_file_id":"file-1"}', BATCHES)).toEqual(['file-1'])
  })

  test('the ids of a long body are found, also across the places where it is cut', async () => {
    const slice = 4 * 1024 * 1024
    for (const at of [slice - 12, slice - 5, slice - 1, slice, slice + 60]) {
      const before = `{"input":"${'x'.repeat(at - 12)}",`
      expect(await idsOf(`${before}"file_id":"file-1","tail":"${'y'.repeat(slice)}"}`)).toEqual(['file-1'])
    }
  })

  test('ids that are too many, or hidden in a body too long to be parsed, make the body unreadable', async () => {
    const many = Array.from({ length: 300 }, (_, index) => `"file-${index}"`).join()
    expect(await idsOf(`{"file_ids":[${many}]}`)).toBe('unreadable')
    expect(await idsOf(`{"\\u0066ile_id":"file-1","x":"${'x'.repeat(2_000_000)}"}`)).toBe('unreadable')
  })
})
