import type { CostlyEndpoint } from './costly-call.ts'

const USAGE = { input_tokens: 1_000, output_tokens: 500, total_tokens: 1_500 }
/** gpt-5: 1.25 and 10 USD per million tokens. */
const TEXT = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Yes.' }] }
const SEARCH = { type: 'web_search_call', id: 'ws_1', status: 'completed' }

function response(id: string, model: string, fields: object): object {
  return { id, object: 'response', status: 'completed', model, usage: USAGE, output: [TEXT], ...fields }
}

const BATCH = {
  id: 'batch_6743',
  object: 'batch',
  endpoint: '/v1/chat/completions',
  input_file_id: 'file-in6743',
  model: 'gpt-5',
}
const DONE = { status: 'completed', output_file_id: 'file-out6743', usage: USAGE }

/** Work that goes on after the answer to its order. */
export const OPENAI_JOBS: readonly CostlyEndpoint[] = [
  {
    name: 'OpenAI videos, sora-2, 8 seconds',
    provider: 'openai',
    calls: [
      {
        method: 'POST',
        path: '/v1/videos',
        body: { model: 'sora-2', prompt: 'A cat.', seconds: '8', size: '1280x720' },
        answer: {
          id: 'video_68d7512d',
          object: 'video',
          model: 'sora-2',
          status: 'queued',
          seconds: '8',
          size: '1280x720',
        },
      },
      {
        method: 'GET',
        path: '/v1/videos/video_68d7512d',
        answer: {
          id: 'video_68d7512d',
          object: 'video',
          model: 'sora-2',
          status: 'completed',
          seconds: '8',
          size: '1280x720',
        },
      },
    ],
    truth: { usd: '0.80' }, // 8 × 0.10
  },
  {
    name: 'OpenAI batch, fetched by its id',
    provider: 'openai',
    calls: [
      {
        method: 'POST',
        path: '/v1/batches',
        body: { input_file_id: 'file-in6743', endpoint: '/v1/chat/completions', completion_window: '24h' },
        answer: { ...BATCH, status: 'validating' },
      },
      { method: 'GET', path: '/v1/batches/batch_6743', answer: { ...BATCH, ...DONE } },
      { method: 'GET', path: '/v1/batches/batch_6743', answer: { ...BATCH, ...DONE } },
    ],
    truth: { usd: '0.003125' }, // half of 1,000 × 1.25 / M + 500 × 10 / M
  },
  {
    name: 'OpenAI batch, only listed',
    provider: 'openai',
    calls: [
      {
        method: 'POST',
        path: '/v1/batches',
        body: { input_file_id: 'file-in6744', endpoint: '/v1/chat/completions', completion_window: '24h' },
        answer: { ...BATCH, id: 'batch_6744', status: 'validating' },
      },
      {
        method: 'GET',
        path: '/v1/batches',
        answer: { object: 'list', data: [{ ...BATCH, id: 'batch_6744', ...DONE }], has_more: false },
      },
    ],
    truth: { usd: '0.003125' },
  },
  {
    name: 'OpenAI deep research in the background',
    provider: 'openai',
    calls: [
      {
        method: 'POST',
        path: '/v1/responses',
        body: {
          model: 'o3-deep-research',
          input: 'Find out.',
          background: true,
          tools: [{ type: 'web_search' }],
        },
        answer: {
          id: 'resp_68d7a1',
          object: 'response',
          background: true,
          status: 'queued',
          model: 'o3-deep-research',
          output: [],
          usage: null,
        },
      },
      {
        method: 'GET',
        path: '/v1/responses/resp_68d7a1',
        answer: response('resp_68d7a1', 'o3-deep-research', {
          background: true,
          output: [
            { ...SEARCH, action: { type: 'search', query: 'q' } },
            { ...SEARCH, id: 'ws_2', action: { type: 'open_page', url: 'https://example.com' } },
            { type: 'code_interpreter_call', id: 'ci_1', status: 'completed', container_id: 'cntr_68d7' },
            TEXT,
          ],
        }),
      },
      {
        method: 'GET',
        path: '/v1/responses/resp_68d7a1',
        answer: response('resp_68d7a1', 'o3-deep-research', {
          background: true,
          output: [{ ...SEARCH, action: { type: 'search', query: 'q' } }, TEXT],
        }),
      },
    ],
    truth: { usd: '0.07' }, // 1,000 × 10 / M + 500 × 40 / M, a search 0.01, a container 0.03; opening a page is free
  },
  {
    name: 'OpenAI fine-tuning',
    provider: 'openai',
    calls: [
      {
        method: 'POST',
        path: '/v1/fine_tuning/jobs',
        body: { model: 'gpt-4.1-mini', training_file: 'file-68d7d1' },
        answer: {
          id: 'ftjob-68d7d1',
          object: 'fine_tuning.job',
          status: 'queued',
          model: 'gpt-4.1-mini',
          trained_tokens: null,
        },
      },
      {
        method: 'GET',
        path: '/v1/fine_tuning/jobs/ftjob-68d7d1',
        answer: {
          id: 'ftjob-68d7d1',
          object: 'fine_tuning.job',
          status: 'succeeded',
          model: 'gpt-4.1-mini',
          trained_tokens: 500_000,
        },
      },
    ],
    truth: { usd: '2.50' }, // 500,000 × 5 / M
  },
  {
    name: 'OpenAI run of an eval',
    provider: 'openai',
    calls: [
      {
        method: 'POST',
        path: '/v1/evals',
        body: { name: 'mine' },
        answer: { id: 'eval_68d7e1', object: 'eval' },
      },
      {
        method: 'POST',
        path: '/v1/evals/eval_68d7e1/runs',
        body: { name: 'run', data_source: { type: 'completions', model: 'gpt-5' } },
        answer: {
          id: 'evalrun_68d7e2',
          object: 'eval.run',
          status: 'queued',
          model: 'gpt-5',
          per_model_usage: null,
        },
      },
      {
        method: 'GET',
        path: '/v1/evals/eval_68d7e1/runs/evalrun_68d7e2',
        answer: {
          id: 'evalrun_68d7e2',
          object: 'eval.run',
          status: 'completed',
          model: 'gpt-5',
          per_model_usage: [
            {
              model_name: 'gpt-5',
              invocation_count: 1,
              prompt_tokens: 1_000,
              completion_tokens: 500,
              cached_tokens: 0,
              total_tokens: 1_500,
            },
          ],
        },
      },
    ],
    truth: { usd: '0.00625' },
  },
  {
    name: 'OpenAI run of an assistant',
    provider: 'openai',
    calls: [
      {
        method: 'POST',
        path: '/v1/threads',
        body: {},
        answer: { id: 'thread_68d7f1', object: 'thread' },
        isFree: true,
      },
      {
        method: 'POST',
        path: '/v1/threads/thread_68d7f1/runs',
        body: { assistant_id: 'asst_68d7f2' },
        answer: {
          id: 'run_68d7f3',
          object: 'thread.run',
          thread_id: 'thread_68d7f1',
          status: 'queued',
          model: 'gpt-4o',
          usage: null,
        },
      },
      {
        method: 'GET',
        path: '/v1/threads/thread_68d7f1/runs/run_68d7f3',
        answer: {
          id: 'run_68d7f3',
          object: 'thread.run',
          thread_id: 'thread_68d7f1',
          status: 'completed',
          model: 'gpt-4o',
          usage: { prompt_tokens: 1_000, completion_tokens: 500, total_tokens: 1_500 },
        },
      },
    ],
    truth: { unpriced: ['no_reader'] }, // 1,000 × 2.50 / M + 500 × 10 / M, while OpenAI still had them
  },
]
