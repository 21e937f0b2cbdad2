import type { CostlyEndpoint } from './costly-call.ts'

const TOKENS_OF_NOTHING = { 'x-amzn-requestid': 'r-1' }
const RERANKER = 'arn:aws:bedrock:us-west-2::foundation-model/cohere.rerank-v3-5:0'

export const BEDROCK: readonly CostlyEndpoint[] = [
  {
    name: 'Bedrock image, Nova Canvas',
    provider: 'bedrock',
    calls: [
      {
        method: 'POST',
        path: '/model/amazon.nova-canvas-v1%3A0/invoke',
        body: {
          taskType: 'TEXT_IMAGE',
          textToImageParams: { text: 'A cat.' },
          imageGenerationConfig: { numberOfImages: 1, quality: 'standard', width: 1024, height: 1024 },
        },
        headers: TOKENS_OF_NOTHING,
        answer: { images: ['AA'] },
      },
    ],
    truth: { usd: '0.04' },
  },
  {
    name: 'Bedrock image, Stable Image Core',
    provider: 'bedrock',
    calls: [
      {
        method: 'POST',
        path: '/model/stability.stable-image-core-v1%3A1/invoke',
        body: { prompt: 'A cat.' },
        headers: TOKENS_OF_NOTHING,
        answer: { seeds: [1], finish_reasons: [null], images: ['AA'] },
      },
    ],
    truth: { usd: '0.04' },
  },
  // Amazon Bedrock's user guide, "Amazon Titan Multimodal Embeddings G1".
  ...(
    [
      ['a picture alone', { inputImage: 'AA==' }, 0, '0.00006'],
      ['a picture and text', { inputImage: 'AA==', inputText: 'A cat.' }, 1_000, '0.00086'],
      ['text alone', { inputImage: null, inputText: 'A cat.' }, 1_000, '0.0008'],
    ] as const
  ).map(
    ([what, body, inputTextTokenCount, usd]): CostlyEndpoint => ({
      name: `Bedrock embedding of ${what}, Titan`,
      provider: 'bedrock',
      calls: [
        {
          method: 'POST',
          path: '/model/amazon.titan-embed-image-v1/invoke',
          body,
          headers: { 'x-amzn-bedrock-input-token-count': `${inputTextTokenCount}` },
          answer: { embedding: [0.1], inputTextTokenCount, message: null },
        },
      ],
      truth: { usd }, // 0.00006 a picture, 1,000 × 0.8 / M
    }),
  ),
  {
    name: 'Bedrock rerank by invoke',
    provider: 'bedrock',
    calls: [
      {
        method: 'POST',
        path: '/model/cohere.rerank-v3-5%3A0/invoke',
        body: { api_version: 2, query: 'q', documents: ['a', 'b'] },
        headers: TOKENS_OF_NOTHING,
        answer: { results: [{ index: 0, relevance_score: 0.9 }] },
      },
    ],
    truth: { usd: '0.002' }, // one query of at most 100 documents
  },
  {
    name: 'Bedrock rerank of its own',
    provider: 'bedrock',
    calls: [
      {
        method: 'POST',
        path: '/rerank',
        body: {
          queries: [{ type: 'TEXT', textQuery: { text: 'q' } }],
          sources: [
            {
              type: 'INLINE',
              inlineDocumentSource: { type: 'TEXT', textDocument: { text: 'a' } },
            },
          ],
          rerankingConfiguration: {
            type: 'BEDROCK_RERANKING_MODEL',
            bedrockRerankingConfiguration: { modelConfiguration: { modelArn: RERANKER } },
          },
        },
        answer: { results: [{ index: 0, relevanceScore: 0.9 }] },
      },
    ],
    truth: { usd: '0.002' },
  },
  {
    name: 'Bedrock video, Nova Reel, 6 seconds',
    provider: 'bedrock',
    calls: [
      {
        method: 'POST',
        path: '/async-invoke',
        body: {
          modelId: 'amazon.nova-reel-v1:0',
          modelInput: {
            taskType: 'TEXT_VIDEO',
            textToVideoParams: { text: 'A cat.' },
            videoGenerationConfig: { durationSeconds: 6, fps: 24, dimension: '1280x720' },
          },
          outputDataConfig: { s3OutputDataConfig: { s3Uri: 's3://b' } },
        },
        answer: { invocationArn: 'arn:aws:bedrock:us-east-1:123456789012:async-invoke/68d7a1' },
      },
    ],
    truth: { usd: '0.48' }, // 6 × 0.08
  },
]
