import { AUDIO, type CostlyEndpoint, MEDIA } from './costly-call.ts'

const USAGE = { input_tokens: 1_000, output_tokens: 500, total_tokens: 1_500 }
/** gpt-5: 1.25 and 10 USD per million tokens. */
const TEXT = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Yes.' }] }

function response(id: string, model: string, fields: object): object {
  return { id, object: 'response', status: 'completed', model, usage: USAGE, output: [TEXT], ...fields }
}

export const OPENAI: readonly CostlyEndpoint[] = [
  {
    name: 'OpenAI speech, tts-1, 1,100 characters',
    provider: 'openai',
    calls: [
      {
        method: 'POST',
        path: '/v1/audio/speech',
        body: { model: 'tts-1', voice: 'alloy', input: 'a'.repeat(1_100) },
        headers: AUDIO,
        answer: MEDIA,
      },
    ],
    truth: { usd: '0.0165' }, // 1,100 × 15 / M
  },
  {
    name: 'OpenAI responses with a file search',
    provider: 'openai',
    calls: [
      {
        method: 'POST',
        path: '/v1/responses',
        body: { model: 'gpt-5', input: 'Look.', tools: [{ type: 'file_search', vector_store_ids: [] }] },
        answer: response('resp_68d7a2', 'gpt-5', {
          output: [
            { type: 'file_search_call', id: 'fs_1', status: 'completed', queries: ['q'], results: null },
            TEXT,
          ],
        }),
      },
    ],
    truth: { usd: '0.00875' }, // 0.00625 of tokens and 2.5 / 1,000
  },
  {
    name: 'OpenAI responses with an image made',
    provider: 'openai',
    calls: [
      {
        method: 'POST',
        path: '/v1/responses',
        body: { model: 'gpt-5', input: 'Draw.', tools: [{ type: 'image_generation', model: 'gpt-image-1' }] },
        answer: response('resp_68d7a3', 'gpt-5', {
          tools: [{ type: 'image_generation', model: 'gpt-image-1', quality: 'high', size: '1024x1024' }],
          output: [
            {
              type: 'image_generation_call',
              id: 'ig_1',
              status: 'completed',
              quality: 'high',
              result: 'AA==',
            },
          ],
          tool_usage: {
            image_gen: {
              input_tokens: 10,
              input_tokens_details: { image_tokens: 0, text_tokens: 10 },
              output_tokens: 4_160,
              output_tokens_details: { image_tokens: 4_160, text_tokens: 0 },
              total_tokens: 4_170,
            },
          },
        }),
      },
    ],
    truth: { usd: '0.1727' }, // 0.00625, 10 × 5 / M and 4,160 × 40 / M
  },
  {
    name: 'OpenAI container',
    provider: 'openai',
    calls: [
      {
        method: 'POST',
        path: '/v1/containers',
        body: { name: 'mine' },
        answer: { id: 'cntr_68d7b1', object: 'container', status: 'running', name: 'mine' },
      },
    ],
    truth: { usd: '0.03' },
  },
  {
    name: 'OpenAI vector store',
    provider: 'openai',
    calls: [
      {
        method: 'POST',
        path: '/v1/vector_stores',
        body: { name: 'mine' },
        answer: { id: 'vs_68d7c1', object: 'vector_store', usage_bytes: 123_456, status: 'completed' },
      },
    ],
    truth: { unpriced: ['no_reader', 'no_figures', 'billed_later'] }, // 0.10 a GB and day, for an unknown time
  },
  {
    name: 'OpenAI search of a vector store',
    provider: 'openai',
    calls: [
      {
        method: 'POST',
        path: '/v1/vector_stores',
        body: { name: 'mine' },
        answer: { id: 'vs_68d7c2', object: 'vector_store', usage_bytes: 0, status: 'completed' },
      },
      {
        method: 'POST',
        path: '/v1/vector_stores/vs_68d7c2/search',
        body: { query: 'q' },
        answer: { object: 'vector_store.search_results.page', search_query: 'q', data: [], has_more: false },
      },
    ],
    truth: { usd: '0.0025' },
  },
  {
    name: 'OpenAI realtime, a secret for the browser',
    provider: 'openai',
    calls: [
      {
        method: 'POST',
        path: '/v1/realtime/client_secrets',
        body: { session: { type: 'realtime', model: 'gpt-realtime' } },
        answer: {},
      },
    ],
    truth: { refused: 403 }, // its session does not pass here
  },
  {
    name: 'OpenAI realtime, a WebRTC call',
    provider: 'openai',
    calls: [
      {
        method: 'POST',
        path: '/v1/realtime/calls',
        body: { sdp: 'v=0' },
        status: 201,
        headers: { 'content-type': 'application/sdp' },
        answer: 'v=0\r\n',
      },
    ],
    truth: { refused: 403 }, // its media do not pass here
  },
]
