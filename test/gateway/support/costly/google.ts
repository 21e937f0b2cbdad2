import type { CostlyEndpoint } from './costly-call.ts'

const MADE = {
  generateVideoResponse: { generatedSamples: [{ video: { uri: 'https://example.com/files/1:download' } }] },
}

function grounded(modelVersion: string, queries: readonly string[]): object {
  return {
    candidates: [
      {
        content: { parts: [{ text: 'Yes.' }], role: 'model' },
        finishReason: 'STOP',
        groundingMetadata: {
          webSearchQueries: queries,
          groundingChunks: [{ web: { uri: 'https://example.com', title: 'example.com' } }],
        },
      },
    ],
    usageMetadata: { promptTokenCount: 1_000, candidatesTokenCount: 500, totalTokenCount: 1_500 },
    modelVersion,
    responseId: `r-${modelVersion}`,
  }
}

const SEARCHING = { contents: [{ parts: [{ text: 'Look.' }] }], tools: [{ google_search: {} }] }

export const GOOGLE: readonly CostlyEndpoint[] = [
  // cloud.google.com/vertex-ai, "Multimodal embeddings API".
  ...(
    [
      ['a picture', { image: { bytesBase64Encoded: 'AA==' } }, { imageEmbedding: [0.1] }, '0.0001'],
      ['text', { text: 'A cat sits.' }, { textEmbedding: [0.1] }, '0.0000018'], // 9 × 0.2 / M
      [
        'a film',
        { video: { gcsUri: 'gs://a/1.mp4' } },
        {
          videoEmbeddings: [
            { startOffsetSec: 0, endOffsetSec: 16, embedding: [0.1] },
            { startOffsetSec: 16, endOffsetSec: 20, embedding: [0.1] },
          ],
        },
        '0.01', // 20 × 0.0005
      ],
      [
        'a film, closely, with a picture and text',
        {
          text: 'A cat.',
          image: { gcsUri: 'gs://a/1.png' },
          video: { gcsUri: 'gs://a/1.mp4', videoSegmentConfig: { intervalSec: 4 } },
        },
        {
          textEmbedding: [0.1],
          imageEmbedding: [0.1],
          videoEmbeddings: [{ startOffsetSec: 0, endOffsetSec: 4, embedding: [0.1] }],
        },
        '0.008101', // 4 × 0.002 + 0.0001 + 5 × 0.2 / M
      ],
    ] as const
  ).map(
    ([what, instance, prediction, usd]): CostlyEndpoint => ({
      name: `Vertex multimodal embedding of ${what}`,
      provider: 'vertex',
      calls: [
        {
          method: 'POST',
          path: '/v1/projects/p/locations/us-central1/publishers/google/models/multimodalembedding@001:predict',
          body: { instances: [instance] },
          answer: { predictions: [prediction], deployedModelId: '1' },
        },
      ],
      truth: { usd },
    }),
  ),
  {
    name: 'Gemini video, Veo 3.1, 8 seconds',
    provider: 'gemini',
    calls: [
      {
        method: 'POST',
        path: '/v1beta/models/veo-3.1-generate-preview:predictLongRunning',
        body: { instances: [{ prompt: 'A cat.' }], parameters: { durationSeconds: 8 } },
        answer: { name: 'models/veo-3.1-generate-preview/operations/u68d7a1' },
      },
      {
        method: 'GET',
        path: '/v1beta/models/veo-3.1-generate-preview/operations/u68d7a1',
        answer: {
          name: 'models/veo-3.1-generate-preview/operations/u68d7a1',
          done: true,
          response: MADE,
        },
      },
    ],
    truth: { usd: '3.20' }, // 8 × 0.40
  },
  {
    name: 'Vertex video, Veo 3.1, 8 seconds',
    provider: 'vertex',
    calls: [
      {
        method: 'POST',
        path: '/v1/projects/p/locations/us-central1/publishers/google/models/veo-3.1-generate-001:predictLongRunning',
        body: { instances: [{ prompt: 'A cat.' }], parameters: { durationSeconds: 8 } },
        answer: {
          name: 'projects/p/locations/us-central1/publishers/google/models/veo-3.1-generate-001/operations/68d7a2',
        },
      },
      {
        method: 'POST',
        path: '/v1/projects/p/locations/us-central1/publishers/google/models/veo-3.1-generate-001:fetchPredictOperation',
        body: {
          operationName:
            'projects/p/locations/us-central1/publishers/google/models/veo-3.1-generate-001/operations/68d7a2',
        },
        answer: {
          name: 'projects/p/locations/us-central1/publishers/google/models/veo-3.1-generate-001/operations/68d7a2',
          done: true,
          response: { videos: [{ gcsUri: 'gs://b/1.mp4', mimeType: 'video/mp4' }] },
        },
      },
    ],
    truth: { usd: '3.20' },
  },
  {
    name: 'Gemini batch',
    provider: 'gemini',
    calls: [
      {
        method: 'POST',
        path: '/v1beta/models/gemini-2.5-flash:batchGenerateContent',
        body: { batch: { display_name: 'mine', input_config: { requests: { requests: [] } } } },
        answer: {
          name: 'batches/68d7b1',
          metadata: {
            name: 'batches/68d7b1',
            model: 'models/gemini-2.5-flash',
            state: 'BATCH_STATE_PENDING',
          },
        },
      },
      {
        method: 'GET',
        path: '/v1beta/batches/68d7b1',
        answer: {
          name: 'batches/68d7b1',
          done: true,
          metadata: {
            '@type': 'type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch',
            name: 'batches/68d7b1',
            model: 'models/gemini-2.5-flash',
            state: 'BATCH_STATE_SUCCEEDED',
          },
          response: {
            inlinedResponses: {
              inlinedResponses: [
                {
                  response: {
                    candidates: [{ content: { parts: [{ text: 'Yes.' }] }, finishReason: 'STOP' }],
                    usageMetadata: {
                      promptTokenCount: 1_000,
                      candidatesTokenCount: 500,
                      totalTokenCount: 1_500,
                    },
                    modelVersion: 'gemini-2.5-flash',
                  },
                },
              ],
            },
          },
        },
      },
    ],
    truth: { usd: '0.000775' }, // half of 1,000 × 0.30 / M + 500 × 2.50 / M
  },
  {
    name: 'Gemini 2.5 grounded by two queries',
    provider: 'gemini',
    calls: [
      {
        method: 'POST',
        path: '/v1beta/models/gemini-2.5-flash:generateContent',
        body: SEARCHING,
        answer: grounded('gemini-2.5-flash', ['one', 'two']),
      },
    ],
    truth: { usd: '0.03655' }, // 0.00155 of tokens, and one grounded prompt of 35 / 1,000
  },
  {
    name: 'Gemini 3.5 grounded by three queries',
    provider: 'gemini',
    calls: [
      {
        method: 'POST',
        path: '/v1beta/models/gemini-3.5-flash:generateContent',
        body: SEARCHING,
        answer: grounded('gemini-3.5-flash', ['one', 'two', 'three']),
      },
    ],
    truth: { usd: '0.048' }, // 0.006 of tokens, and three queries of 14 / 1,000
  },
  {
    name: 'Gemini cache of 100,000 tokens for an hour',
    provider: 'gemini',
    calls: [
      {
        method: 'POST',
        path: '/v1beta/cachedContents',
        body: { model: 'models/gemini-2.5-pro', contents: [{ parts: [{ text: 'Long.' }] }], ttl: '3600s' },
        answer: {
          name: 'cachedContents/68d7c1',
          model: 'models/gemini-2.5-pro',
          createTime: '2026-11-22T05:00:00Z',
          expireTime: '2026-11-22T06:00:00Z',
          usageMetadata: { totalTokenCount: 100_000 },
        },
      },
    ],
    truth: { partlyUsd: '0.125' }, // to write it; keeping it is 0.45 an hour, unless it is deleted or prolonged
  },
  {
    name: 'Gemini speech, 100 text tokens to 1,000 of audio',
    provider: 'gemini',
    calls: [
      {
        method: 'POST',
        path: '/v1beta/models/gemini-2.5-flash-tts:generateContent',
        body: {
          contents: [{ parts: [{ text: 'Say it.' }] }],
          generationConfig: { responseModalities: ['AUDIO'] },
        },
        answer: {
          candidates: [
            {
              content: { parts: [{ inlineData: { mimeType: 'audio/L16', data: 'AA==' } }] },
              finishReason: 'STOP',
            },
          ],
          usageMetadata: {
            promptTokenCount: 100,
            candidatesTokenCount: 1_000,
            totalTokenCount: 1_100,
            promptTokensDetails: [{ modality: 'TEXT', tokenCount: 100 }],
            candidatesTokensDetails: [{ modality: 'AUDIO', tokenCount: 1_000 }],
          },
          modelVersion: 'gemini-2.5-flash-tts',
          responseId: 'r-tts',
        },
      },
    ],
    // 100 × 0.50 / M + 1,000 × 10 / M, on any day: the prices of newer models rise in 2027.
    truth: { usd: '0.01005' },
  },
  {
    name: 'Gemini at Vertex, grounded in data of one’s own',
    provider: 'vertex',
    calls: [
      {
        method: 'POST',
        path: '/v1/projects/p/locations/global/publishers/google/models/gemini-2.5-flash:generateContent',
        body: { contents: [], tools: [{ retrieval: { vertexAiSearch: { datastore: 'd' } } }] },
        answer: {
          candidates: [
            {
              content: { parts: [{ text: 'Yes.' }] },
              finishReason: 'STOP',
              groundingMetadata: { retrievalQueries: ['a'], groundingChunks: [{ retrievedContext: {} }] },
            },
          ],
          modelVersion: 'gemini-2.5-flash',
          usageMetadata: { promptTokenCount: 1_000_000, candidatesTokenCount: 0, totalTokenCount: 1_000_000 },
        },
      },
    ],
    truth: { partlyUsd: '0.30' }, // 1 M x 0.30 / M, and the query, whose price depends on the data
  },
]
