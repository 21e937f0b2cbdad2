// @seconds: bodies of megabytes
import { describe, expect, test } from 'vitest'
import { scanRequestBody } from '../../src/gateway/bodies/request-body.ts'
import { NameCollector, namesInBody } from '../../src/objects/names/body-names.ts'
import { LINE_WALK } from '../../src/objects/names/name-paths.ts'

const RESPONSES = '/v1/responses'
const CHAT = '/v1/chat/completions'
const BATCHES = '/v1/batches'

async function namesOf(body: string | Buffer, path: string) {
  const bytes = Buffer.from(body)
  return await namesInBody(path, bytes, scanRequestBody(bytes), 'acme')
}

async function idsOf(body: string | Buffer, path = RESPONSES) {
  const names = await namesOf(body, path)
  return names === 'unreadable' ? names : names.ids
}

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
    ['{"file_id"', 'unreadable'],
    ['{"file_id":"file-1', 'unreadable'],
    ['{"conversation":{"object":"id","id":"conv_1"}}', ['conv_1']],
    ['{"conversation":{"id":null,"id":"conv_1","id":"conv_2"}}', ['conv_1', 'conv_2']],
    [`{"conversation":{${' '.repeat(1_100)}"id":"conv_1"}}`, ['conv_1']],
    ['{"tools":[{"vector_store_ids":[null,7,"vs_abc",["vs_def"]]}]}', ['vs_abc', 'vs_def']],
    ['{"Previous_Response_ID":"resp_1","PREVIOU\u017f_RE\u017fPONSE_ID":"resp_2"}', ['resp_1', 'resp_2']],
    [
      '{"input":[{"type":"item_reference","id":"resp_abc123456"},{"id":"msg_1234567890"}]}',
      ['resp_abc123456'],
    ],
    ['{"model":"ft:gpt-4o:acme::1"}', ['ft:gpt-4o:acme::1']],
    ['\ufeff{"file_id":"file-1"}', ['file-1']],
    ['{"file_id":"file-1"} {"file_id":"file-2"}', 'unreadable'],
    ["{'file_id':'file-1'}", 'unreadable'],
    ['{"a":[}],"file_id":"file-1"}', 'unreadable'],
    ['previous_response_id=resp_1', 'unreadable'],
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
    expect(await idsOf('{"agent_id":"ag_01234567"}', CHAT)).toEqual([])
    // Mistral's.
    expect(await idsOf('{"agent_id":"ag_01234567"}', '/v1/agents/completions')).toEqual(['ag_01234567'])
  })

  test('the ids of a long body are found, also across the places where it is cut', async () => {
    const slice = 4 * 1024 * 1024
    for (const at of [slice - 12, slice - 5, slice - 1, slice, slice + 60]) {
      const before = `{"input":"${'x'.repeat(at - 12)}",`
      expect(await idsOf(`${before}"file_id":"file-1","tail":"${'y'.repeat(slice)}"}`)).toEqual(['file-1'])
    }
  })

  test('ids in escapes are found in a body of any length', async () => {
    expect(await idsOf(`{"\\u0066ile_id":"file-1","x":"${'x'.repeat(2_000_000)}"}`)).toEqual(['file-1'])
  })

  test('a store takes 2,000 files at once, and more make the body unreadable', async () => {
    const files = (count: number) => Array.from({ length: count }, (_, index) => `"file-${index}"`).join()
    expect(await idsOf(`{"file_ids":[${files(2_000)}]}`)).toHaveLength(2_000)
    expect(await idsOf(`{"file_ids":[${files(3_000)}]}`)).toBe('unreadable')
    expect(await idsOf(`{"x":"${'x'.repeat(100_000)}","file_ids":[${files(3_000)}]}`)).toBe('unreadable')
  })

  test('bytes that are not UTF-8, other encodings and nesting without end are unreadable', async () => {
    expect(await idsOf(Buffer.from('{"x":"\xff","file_id":"file-1"}', 'latin1'))).toBe('unreadable')
    expect(await idsOf(Buffer.from('{"file_id":"file-1"}', 'utf16le'))).toBe('unreadable')
    expect(await idsOf('['.repeat(1_000_000), BATCHES)).toBe('unreadable')
    expect(await idsOf(`{"x":${'['.repeat(600)}1${']'.repeat(600)}}`)).toBe('unreadable')
  })

  test('a chat is walked only where it may name something', async () => {
    const text = 'ids: _id, profile_idea, \\u00e9'
    expect(await idsOf(`{"messages":[{"content":"${text}"}]}`, CHAT)).toEqual([])
    expect(await idsOf('{"messages":[{"content":[{"file":{"FILE_ID":"file-1"}}]}]}', CHAT)).toEqual([
      'file-1',
    ])
    expect(await idsOf('{"messages":[{"content":[{"file":{"file\\u005fid":"file-1"}}]}]}', CHAT)).toEqual([
      'file-1',
    ])
    expect(await idsOf('{"model":"a","model":"ft:b:c"}', CHAT)).toEqual(['ft:b:c'])
  })

  test('what takes sound or pictures may be anything, and what keeps objects may not', async () => {
    const sound = Buffer.from([0x52, 0x49, 0x46, 0x46, 0, 1, 2, 0xff])
    expect(await idsOf(sound, '/run/@cf/openai/whisper')).toEqual([])
    expect(await idsOf(sound, BATCHES)).toBe('unreadable')
  })
})

describe('the models that a body names', () => {
  test.each([
    ['/v1/responses', { model: 'a', tools: [{ type: 'image_generation', model: 'b' }] }, ['a', 'b']],
    [
      '/v1/evals',
      { testing_criteria: [{ type: 'multi', graders: { x: { model: 'c' } } }, { model: 'd' }] },
      ['c', 'd'],
    ],
    ['/v1/evals/eval_1/runs', { data_source: { model: 'e', sampling_params: {} } }, ['e']],
    ['/v1/assistants', { model: 'f', metadata: { model: 'mine' } }, ['f']],
    ['/v1/threads/runs', { model: 'g', assistant: { model: 'h' } }, ['g', 'h']],
    [
      '/v1/fine_tuning/jobs',
      { model: 'i', method: { reinforcement: { grader: { model: 'j' } } } },
      ['i', 'j'],
    ],
    ['/v1/messages/batches', { requests: [{ params: { model: 'k' } }] }, ['k']],
    ['/v1/batch/jobs', { model: 'a', requests: [{ body: { model: 'b' } }] }, ['a', 'b']],
    ['/v1/batches', { input_file_id: 'f', model_id: 'a' }, ['a']],
  ])('of %s the body %j names %j', async (path, body, models) => {
    expect(await namesOf(JSON.stringify(body), path)).toMatchObject({ models })
  })
})

describe('what reads the whole account', () => {
  test.each([
    ['/v1/evals', { data_source_config: { type: 'stored_completions' } }, true],
    ['/v1/evals', { data_source_config: { type: 'logs' } }, true],
    ['/v1/evals', { data_source_config: { type: 'custom' } }, false],
    ['/v1/evals/eval_1/runs', { data_source: { type: 'responses', source: { type: 'responses' } } }, true],
    ['/v1/evals/eval_1/runs', { data_source: { source: { type: 'stored_completions' } } }, true],
    ['/v1/evals/eval_1/runs', { data_source: { source: { type: 'file_content', content: [] } } }, false],
    ['/v1/uploads', { purpose: 'batch' }, true],
    ['/v1/uploads', { purpose: 'user_data' }, false],
  ])('to %s, %j: %j', async (path, body, readsWholeAccount) => {
    expect(await namesOf(JSON.stringify(body), path)).toMatchObject({ readsWholeAccount })
  })
})

test('of an upload of any length, no more is kept than the ids since they were asked for', () => {
  const names = new NameCollector(LINE_WALK)
  for (let line = 0; line < 3; line += 1) {
    names.push(Buffer.from(`{"body":{"model":"made-up-${line}","file_ids":["file-${line}"]}}`))
    names.restart()
    expect(names.takeIds()).toEqual([`file-${line}`])
    expect(names.found).toMatchObject({ ids: [], models: [] })
  }
})

describe('a form in the coding of URLs, where an endpoint may take anything,', () => {
  const QUEUE = '/client/v4/accounts/a/ai/run/@cf/meta/llama'
  const named = 'request_id=768f15b7-4fd6'

  test.each([
    ...[
      '',
      '&',
      '&&',
      'a&',
      '=1&',
      '@=1&',
      'x y=1&',
      '\n',
      ' ',
      ' a=1&',
      '\ufeff',
      '%=1&',
      'a=1;',
      '{&',
      '\u0001=&',
    ],
    ...[`p=${'x'.repeat(65_536)}`, 'x'.repeat(300), 'a=1&'.repeat(100_000)].map((long) => `${long}&`),
  ])('names the ids in its fields behind what servers skip, case %#', async (begin) => {
    for (const form of [
      named,
      'request%5Fid=%3768f15b7-4fd6',
      ' Request_ID =768f15b7-4fd6\n',
      `${named}&b=1`,
    ])
      expect([form, await idsOf(begin + form, QUEUE)]).toEqual([form, ['768f15b7-4fd6']])
  })

  test('names no more than anybody needs', async () => {
    const ids = (count: number) =>
      Array.from({ length: count }, (_, at) => `request_id=id-${at + 10}`).join('&')
    expect(await idsOf(ids(2_048), QUEUE)).toHaveLength(2_048)
    expect(await idsOf(ids(2_049), QUEUE)).toBe('unreadable')
    expect(await idsOf(ids(9_000), QUEUE)).toBe('unreadable')
  })

  test('names what it names as JSON, too, where it is said to be a form', async () => {
    for (const text of ['', 'x'.repeat(100_000)]) {
      const body = Buffer.from(`{"file_id":"file-1","x":"${text}&${named}&y="}`)
      const read = (isForm: boolean) =>
        namesInBody(QUEUE, body, scanRequestBody(body), 'acme', () => true, false, isForm)
      expect(await read(false)).toMatchObject({ ids: ['file-1'] })
      expect(await read(true)).toMatchObject({ ids: ['file-1', '768f15b7-4fd6'] })
    }
  })

  test('has no more names than anybody needs as JSON either', async () => {
    const ids = Array.from({ length: 2_049 }, (_, at) => `file-${at}`)
    expect(await idsOf(JSON.stringify({ file_ids: ids }), QUEUE)).toBe('unreadable')
    expect(
      await idsOf(
        `${JSON.stringify({ file_ids: ids, x: 'x'.repeat(100_000), request_id: 'victim' })}`,
        QUEUE,
      ),
    ).toBe('unreadable')
  })

  test('is not what sound and pictures are, which command lines call one', async () => {
    const sound = Buffer.alloc(3_000_000)
    for (let at = 0; at < sound.length; at += 1) sound[at] = (at * at * 31 + (at >> 7)) % 251
    expect(await idsOf(sound, QUEUE)).toEqual([])
    expect(await idsOf(Buffer.alloc(1_000_000, '&'), QUEUE)).toEqual([])
  })

  test('is not read on for a client that went away', async () => {
    const body = Buffer.from(`a=1&${named}`)
    expect(await namesInBody(QUEUE, body, null, 'acme', () => false)).toBe('unreadable')
  })
})
