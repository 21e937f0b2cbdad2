import { AUDIO, type CostlyEndpoint, MEDIA } from './costly-call.ts'

export const OTHERS: readonly CostlyEndpoint[] = [
  {
    name: 'xAI video, reported by its fetch',
    provider: 'xai',
    calls: [
      {
        method: 'POST',
        path: '/v1/videos/generations',
        body: { model: 'grok-imagine-video', prompt: 'A cat.', duration: 6 },
        answer: { request_id: 'd97415a1-5796-b7ec-379f-4e6819e08fdf' },
      },
      {
        method: 'GET',
        path: '/v1/videos/d97415a1-5796-b7ec-379f-4e6819e08fdf',
        answer: {
          status: 'done',
          model: 'grok-imagine-video',
          video: { url: 'https://example.com/1.mp4', duration: 6 },
          usage: { cost_in_usd_ticks: 3_000_000_000 },
        },
      },
    ],
    truth: { usd: '0.30' }, // 6 × 0.05
  },
  {
    name: 'Azure video job',
    provider: 'azure-openai',
    calls: [
      {
        method: 'POST',
        path: '/openai/v1/video/generations/jobs',
        body: { model: 'sora', prompt: 'A cat.', n_seconds: 5, height: 720, width: 1280 },
        answer: { id: 'task_68d7a1', object: 'video.generation.job', status: 'queued', model: 'sora' },
      },
    ],
    truth: { unpriced: ['no_reader', 'no_figures', 'billed_later', 'no_price'] }, // Sora 1 has left the price lists
  },
  {
    name: 'Mistral speech, 1,000 characters',
    provider: 'mistral',
    calls: [
      {
        method: 'POST',
        path: '/v1/audio/speech',
        body: { model: 'voxtral-mini-tts-latest', voice: 'v', input: 'a'.repeat(1_000) },
        answer: { audio_data: 'AA==' },
      },
    ],
    truth: { usd: '0.016' }, // 1,000 × 16 / M
  },
  // docs.mistral.ai, "Classifiers", whose reference names no usage, and "Models".
  ...(
    [
      ['/v1/moderations', 'mistral-moderation-2411', { prompt_tokens: 100, total_tokens: 100 }, '0.00001'],
      [
        '/v1/chat/moderations',
        'mistral-moderation-2411',
        { prompt_tokens: 100, total_tokens: 100 },
        '0.00001',
      ],
      ['/v1/moderations', 'mistral-moderation-2603', { prompt_tokens: 100, total_tokens: 100 }, '0'],
      [
        '/v1/classifications',
        'ft:classifier:ministral-3b-latest:1',
        { prompt_tokens: 9, total_tokens: 9 },
        null,
      ],
      ['/v1/moderations', 'shieldstral-1-0', undefined, null],
      ['/v1/chat/classifications', 'shieldstral-1-0', undefined, null],
    ] as const
  ).map(
    ([path, model, usage, usd], nr): CostlyEndpoint => ({
      name: `Mistral's classifier ${nr}: ${model} at ${path}`,
      provider: 'mistral',
      calls: [
        {
          method: 'POST',
          path,
          body: { model, input: ['Shall I?'] },
          answer: {
            id: 'm1',
            model,
            results: [{ categories: {} }],
            ...(usage === undefined ? {} : { usage }),
          },
        },
      ],
      truth: usd === null ? { unpriced: ['no_price'] } : { usd }, // 100 × 0.1 / M; the newer one is free
    }),
  ),
  {
    name: 'Mistral batch job, by its output file',
    provider: 'mistral',
    calls: [
      {
        method: 'POST',
        path: '/v1/batch/jobs',
        body: {
          input_files: ['f0c5e6d1-68d7-4a1e-9a3b-000000000001'],
          model: 'mistral-large-2411',
          endpoint: '/v1/chat/completions',
        },
        answer: { id: 'j-68d7a1', object: 'batch', status: 'QUEUED', model: 'mistral-large-2411' },
      },
      {
        method: 'GET',
        path: '/v1/batch/jobs/j-68d7a1',
        answer: {
          id: 'j-68d7a1',
          object: 'batch',
          status: 'SUCCESS',
          model: 'mistral-large-2411',
          output_file: 'f0c5e6d1-68d7-4a1e-9a3b-000000000002',
          total_requests: 1,
          succeeded_requests: 1,
        },
      },
      {
        method: 'GET',
        path: '/v1/files/f0c5e6d1-68d7-4a1e-9a3b-000000000002/content',
        headers: { 'content-type': 'application/octet-stream' },
        answer: `${JSON.stringify({
          id: 'batch-68d7a1-0',
          custom_id: '0',
          response: {
            status_code: 200,
            body: {
              id: 'c1',
              object: 'chat.completion',
              model: 'mistral-large-2411',
              choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }],
              usage: { prompt_tokens: 1_000, completion_tokens: 500, total_tokens: 1_500 },
            },
          },
          error: null,
        })}\n`,
      },
    ],
    truth: { usd: '0.0025' }, // half of 1,000 × 2 / M + 500 × 6 / M
  },
  {
    name: 'ElevenLabs speech at a host of no known prices',
    provider: 'openai-compatible',
    calls: [
      {
        method: 'POST',
        path: '/v1/text-to-speech/voice',
        body: { text: 'Hello', model_id: 'eleven_multilingual_v2' },
        headers: { ...AUDIO, 'character-cost': '5' },
        answer: MEDIA,
      },
    ],
    truth: { unpriced: ['no_price', 'no_model'] }, // its five characters are counted
  },
  {
    name: 'Cohere rerank',
    provider: 'cohere',
    calls: [
      {
        method: 'POST',
        path: '/v2/rerank',
        body: { model: 'rerank-v3.5', query: 'q', documents: ['a', 'b'] },
        answer: { id: 'r1', results: [], meta: { billed_units: { search_units: 1 } } },
      },
    ],
    truth: { usd: '0.002' },
  },
  {
    name: 'Cohere embedding of an image',
    provider: 'cohere',
    calls: [
      {
        method: 'POST',
        path: '/v2/embed',
        body: { model: 'embed-v4.0', inputs: [], input_type: 'search_document', embedding_types: ['float'] },
        answer: {
          id: 'e1',
          embeddings: { float: [[0.1]] },
          meta: { billed_units: { images: 1, image_tokens: 500, input_tokens: 10 } },
        },
      },
    ],
    truth: { usd: '0.0002362' }, // 10 × 0.12 / M + 500 × 0.47 / M
  },
  {
    name: 'Voyage multimodal embedding',
    provider: 'voyageai',
    calls: [
      {
        method: 'POST',
        path: '/v1/multimodalembeddings',
        body: { model: 'voyage-multimodal-3', inputs: [] },
        answer: {
          object: 'list',
          data: [],
          model: 'voyage-multimodal-3',
          usage: { text_tokens: 5, image_pixels: 2_000_000, total_tokens: 3_576 },
        },
      },
    ],
    truth: { usd: '0.001200456' }, // 5 × 0.12 / M + 3,571 × 560 × 0.60 / 1,000 M
  },
  {
    name: 'Perplexity chat with little context',
    provider: 'perplexity',
    calls: [
      {
        method: 'POST',
        path: '/chat/completions',
        body: { model: 'sonar', messages: [{ role: 'user', content: 'Look.' }] },
        answer: {
          id: 'p1',
          object: 'chat.completion',
          model: 'sonar',
          choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }],
          usage: {
            prompt_tokens: 10,
            completion_tokens: 10,
            total_tokens: 20,
            search_context_size: 'low',
            cost: { request_cost: 0.005, total_cost: 0.00502 },
          },
        },
      },
    ],
    truth: { usd: '0.00502' },
  },
  {
    // docs.perplexity.ai, "Create Chat Completion": the newer path of chat.
    name: 'Perplexity chat by its newer path',
    provider: 'perplexity',
    calls: [
      {
        method: 'POST',
        path: '/v1/sonar',
        body: { model: 'sonar', messages: [{ role: 'user', content: 'Look.' }] },
        answer: {
          id: 'p2',
          object: 'chat.completion',
          model: 'sonar',
          choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }],
          usage: {
            prompt_tokens: 10,
            completion_tokens: 10,
            total_tokens: 20,
            search_context_size: 'low',
            cost: { request_cost: 0.005, total_cost: 0.00502 },
          },
        },
      },
    ],
    truth: { usd: '0.00502' },
  },
  // docs.perplexity.ai, "Create Async Chat Completion", "Get Async Chat Completion", and the path before these.
  ...['/v1/async/sonar', '/async/chat/completions'].map((path): CostlyEndpoint => {
    const id = `req-${path.replaceAll('/', '-')}`
    const request = { id, model: 'sonar-deep-research', created_at: Math.floor(Date.now() / 1_000) }
    const response = {
      id: 'p3',
      object: 'chat.completion',
      model: 'sonar-deep-research',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }],
      usage: {
        prompt_tokens: 10,
        completion_tokens: 1_000,
        total_tokens: 1_010,
        citation_tokens: 100,
        num_search_queries: 4,
        reasoning_tokens: 500,
        cost: { total_cost: 0.5 },
      },
    }
    return {
      name: `Perplexity research at ${path}, fetched twice`,
      provider: 'perplexity',
      calls: [
        {
          method: 'POST',
          path,
          body: { request: { model: 'sonar-deep-research', messages: [{ role: 'user', content: 'Look.' }] } },
          answer: { ...request, status: 'CREATED', response: null },
        },
        {
          method: 'GET',
          path: `${path}/${id}`,
          answer: { ...request, status: 'IN_PROGRESS', response: null },
        },
        { method: 'GET', path: `${path}/${id}`, answer: { ...request, status: 'COMPLETED', response } },
        { method: 'GET', path: `${path}/${id}`, answer: { ...request, status: 'COMPLETED', response } },
      ],
      truth: { usd: '0.5' },
    }
  }),
  {
    name: 'Perplexity search',
    provider: 'perplexity',
    calls: [
      {
        method: 'POST',
        path: '/search',
        body: { query: 'q' },
        answer: { id: 's1', results: [{ title: 't', url: 'https://example.com', snippet: 's' }] },
      },
    ],
    truth: { usd: '0.005' },
  },
  {
    name: 'Groq compound, by its parts',
    provider: 'groq',
    calls: [
      {
        method: 'POST',
        path: '/openai/v1/chat/completions',
        body: { model: 'groq/compound', messages: [{ role: 'user', content: 'Think.' }] },
        answer: {
          id: 'g1',
          object: 'chat.completion',
          model: 'groq/compound',
          choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }],
          usage: { prompt_tokens: 1_000, completion_tokens: 500, total_tokens: 1_500 },
          usage_breakdown: {
            models: [
              {
                model: 'openai/gpt-oss-120b',
                usage: { prompt_tokens: 900, completion_tokens: 400, total_tokens: 1_300 },
              },
              {
                model: 'llama-3.3-70b-versatile',
                usage: { prompt_tokens: 100, completion_tokens: 100, total_tokens: 200 },
              },
            ],
          },
        },
      },
    ],
    truth: { usd: '0.000513' }, // (900 × 0.15 + 400 × 0.60 + 100 × 0.59 + 100 × 0.79) / M
  },
  {
    name: 'Fireworks image by a workflow',
    provider: 'fireworks',
    calls: [
      {
        method: 'POST',
        path: '/inference/v1/workflows/accounts/fireworks/models/flux-1-schnell-fp8/text_to_image',
        body: { prompt: 'A cat.' },
        answer: { id: 'w1', base64: ['AA=='], finishReason: 'SUCCESS', seed: 1 },
      },
    ],
    truth: { usd: '0.0014' }, // four steps of 0.00035
  },
  {
    name: 'Replicate at a host of no known prices',
    provider: 'openai-compatible',
    calls: [
      {
        method: 'POST',
        path: '/v1/predictions',
        body: { version: 'v1', input: { prompt: 'A cat.' } },
        status: 201,
        answer: {
          id: 'ufawqhfynnddngldkgtslldrkq',
          status: 'succeeded',
          metrics: { predict_time: 12.3 },
          output: [],
        },
      },
    ],
    truth: { unpriced: ['no_reader', 'no_figures', 'no_price', 'no_model'] }, // by the second, at each machine's price
  },
  {
    name: 'Anthropic batch, one of two requests in the United States',
    provider: 'anthropic',
    calls: [
      {
        method: 'POST',
        path: '/v1/messages/batches',
        body: { requests: [] },
        answer: { id: 'msgbatch_01Ab23Cd45', type: 'message_batch', processing_status: 'in_progress' },
      },
      {
        method: 'GET',
        path: '/v1/messages/batches/msgbatch_01Ab23Cd45/results',
        headers: { 'content-type': 'application/x-jsonl' },
        answer: ['us', 'global']
          .map((inference_geo) => {
            const usage = { input_tokens: 1_000_000, output_tokens: 0, service_tier: 'batch', inference_geo }
            return JSON.stringify({
              result: { type: 'succeeded', message: { model: 'claude-opus-4-8', usage } },
            })
          })
          .join('\n'),
      },
    ],
    truth: { usd: '5.25' }, // half of 5, once times 1.1
  },
  {
    name: 'Claude writes to its cache for an hour, and its search writes more',
    provider: 'anthropic',
    calls: [
      {
        method: 'POST',
        path: '/v1/messages',
        body: { model: 'claude-opus-4-8', stream: true, messages: [] },
        headers: { 'content-type': 'text/event-stream' },
        answer: [
          {
            type: 'message_start',
            message: {
              model: 'claude-opus-4-8',
              usage: {
                input_tokens: 10,
                output_tokens: 1,
                cache_creation_input_tokens: 1_000_000,
                cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 1_000_000 },
              },
            },
          },
          {
            type: 'message_delta',
            delta: { stop_reason: 'end_turn' },
            usage: { output_tokens: 10, cache_creation_input_tokens: 1_000_100 },
          },
          { type: 'message_stop' },
        ]
          .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
          .join(''),
      },
    ],
    truth: { usd: '10.000925' }, // 1 M x 10 / M + 100 x 6.25 / M + 10 x 5 / M + 10 x 25 / M
  },
  ...(
    [
      ['picture', 'qwen-image-2.0', { image_count: 2, width: 1_024, height: 1_024 }, { usd: '0.07' }], // 2 x 0.035
      // 195 x 10 / M
      [
        'speech',
        'qwen3-tts-flash',
        { input_tokens: 0, output_tokens: 0, characters: 195 },
        { usd: '0.00195' },
      ],
      [
        'transcription',
        'qwen3-asr-flash',
        { input_tokens_details: { text_tokens: 0 }, output_tokens_details: { text_tokens: 6 }, seconds: 1 },
        { unpriced: ['no_price'] }, // no list has one
      ],
    ] as const
  ).map(
    ([medium, model, usage, truth]): CostlyEndpoint => ({
      name: `Alibaba ${medium}, whose usage counts no tokens`,
      provider: 'alibaba',
      calls: [
        {
          method: 'POST',
          path: '/api/v1/services/aigc/multimodal-generation/generation',
          body: { model, input: { messages: [{ role: 'user', content: [{ text: 'A cat.' }] }] } },
          answer: { output: { choices: [{ finish_reason: 'stop', message: { content: [] } }] }, usage },
        },
      ],
      truth,
    }),
  ),
  {
    // developers.cloudflare.com/workers-ai, "Asynchronous Batch API", "REST API".
    name: 'Cloudflare batch from its queue, asked for four times',
    provider: 'cloudflare',
    calls: [
      {
        method: 'POST',
        path: '/client/v4/accounts/a/ai/run/@cf/meta/llama-3.3-70b-instruct-fp8-fast?queueRequest=true',
        body: { requests: [{ prompt: 'Tell me.' }, { prompt: 'And me.' }] },
        answer: {
          result: {
            status: 'queued',
            request_id: '768f15b7-4fd6-4498-906e-ad94ffc7f8d2',
            model: '@cf/meta/llama-3.3-70b-instruct-fp8-fast',
          },
          success: true,
          errors: [],
          messages: [],
        },
      },
      ...['queued', 'running', null, null].map((status) => ({
        method: 'POST' as const,
        isFree: true as const,
        path: '/client/v4/accounts/a/ai/run/@cf/meta/llama-3.3-70b-instruct-fp8-fast?queueRequest=true',
        body: { request_id: '768f15b7-4fd6-4498-906e-ad94ffc7f8d2' },
        answer: {
          result:
            status === null
              ? {
                  responses: [{ id: 0, result: { response: 'Yes.' }, success: true }],
                  usage: { prompt_tokens: 1_000_000, completion_tokens: 0, total_tokens: 1_000_000 },
                }
              : { status, request_id: '768f15b7-4fd6-4498-906e-ad94ffc7f8d2' },
          success: true,
        },
      })),
    ],
    truth: { usd: '0.293' }, // 1 M x 0.293 / M, once
  },
  {
    // docs.z.ai, "Generate Image(Async)" and "Retrieve Result".
    name: 'Z.ai picture from its queue, fetched twice',
    provider: 'zai',
    calls: [
      {
        method: 'POST',
        path: '/api/paas/v4/async/images/generations',
        body: { model: 'glm-image', prompt: 'A cat.' },
        answer: { id: 'task-68d7a10125', model: 'glm-image', request_id: 'r-2', task_status: 'PROCESSING' },
      },
      ...['PROCESSING', 'SUCCESS', 'SUCCESS'].map((task_status) => ({
        method: 'GET' as const,
        path: '/api/paas/v4/async-result/task-68d7a10125',
        answer: {
          model: 'glm-image',
          request_id: 'r-2',
          task_status,
          ...(task_status === 'PROCESSING' ? {} : { image_result: [{ url: 'https://example.com/1.png' }] }),
        },
      })),
    ],
    truth: { usd: '0.015' },
  },
  {
    // docs.z.ai, "Generate Video(Async)" and "Retrieve Result", whose answer has no id of the task.
    name: 'Z.ai film from its queue, fetched twice',
    provider: 'zai',
    calls: [
      {
        method: 'POST',
        path: '/api/paas/v4/videos/generations',
        body: { model: 'cogvideox-3', prompt: 'A cat.', duration: 10 },
        answer: { id: 'task-68d7a10124', model: 'cogvideox-3', request_id: 'r-1', task_status: 'PROCESSING' },
      },
      ...['PROCESSING', 'SUCCESS', 'SUCCESS'].map((task_status) => ({
        method: 'GET' as const,
        path: '/api/paas/v4/async-result/task-68d7a10124',
        answer: {
          model: 'cogvideox-3',
          request_id: 'r-1',
          task_status,
          ...(task_status === 'PROCESSING'
            ? {}
            : {
                video_result: [
                  { url: 'https://example.com/1.mp4', cover_image_url: 'https://example.com/1' },
                ],
              }),
        },
      })),
    ],
    truth: { usd: '0.2' }, // a film, once
  },
  {
    name: 'Z.ai chat from its queue, fetched twice',
    provider: 'zai',
    calls: [
      {
        method: 'POST',
        path: '/api/paas/v4/async/chat/completions',
        body: { model: 'glm-4.6', messages: [{ role: 'user', content: 'Tell me.' }] },
        answer: { id: 'task-68d7a10123', model: 'glm-4.6', task_status: 'PROCESSING' },
      },
      ...['PROCESSING', 'SUCCESS', 'SUCCESS'].map((task_status) => ({
        method: 'GET' as const,
        path: '/api/paas/v4/async-result/task-68d7a10123',
        answer: {
          id: 'task-68d7a10123',
          model: 'glm-4.6',
          task_status,
          ...(task_status === 'PROCESSING'
            ? {}
            : {
                choices: [{ finish_reason: 'stop', message: { role: 'assistant', content: 'Yes.' } }],
                usage: { prompt_tokens: 1_000_000, completion_tokens: 0, total_tokens: 1_000_000 },
              }),
        },
      })),
    ],
    truth: { usd: '0.6' }, // 1 M x 0.6 / M, once
  },
]
