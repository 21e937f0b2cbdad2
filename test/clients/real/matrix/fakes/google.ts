import { type Answer, ASKS_FOR_TOOL, type Asked, type Family, REPORTED, sse, TEXT, TOOL } from './provider.ts'

/** As the Gemini API names the quota of a day. */
const SPENT_FOR_TODAY = {
  '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
  violations: [
    {
      quotaMetric: 'generativelanguage.googleapis.com/generate_requests_per_model_per_day',
      quotaId: 'GenerateRequestsPerDayPerProjectPerModel',
    },
  ],
}

/** The Gemini API. */
export const google = (): Family => {
  let number = 0
  const file = (id: string, origin: string) => ({
    name: `files/${id}`,
    uri: `${origin}/v1beta/files/${id}`,
    mimeType: 'text/plain',
    sizeBytes: '15',
    state: 'ACTIVE',
  })
  return {
    refuse(refusal, _asked, answer) {
      const [code, status, message, details] = {
        wrong_key: [400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.'] as const,
        spent: [429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota.', [SPENT_FOR_TODAY]] as const,
        no_model: [404, 'NOT_FOUND', 'models/no-such-model is not found for API version v1beta.'] as const,
      }[refusal]
      answer.json(code, { error: { code, message, status, details } })
    },
    answer(asked, answer) {
      const { pathname, origin } = asked.url
      const [, model = '', method = ''] = /\/models\/([^/:]+):(\w+)$/.exec(pathname) ?? []
      if (method === 'generateContent' || method === 'streamGenerateContent')
        generate(model, method === 'streamGenerateContent', asked, answer)
      else if (method === 'countTokens') answer.json(200, { totalTokens: REPORTED.input })
      else if (method === 'batchEmbedContents') answer.json(200, { embeddings: [{ values: [0.25, 0.5] }] })
      else if (method === 'embedContent') answer.json(200, { embedding: { values: [0.25, 0.5] } })
      else if (/^\/v1(?:beta)?\/models$/.test(pathname)) {
        const supportedGenerationMethods = ['generateContent']
        answer.json(200, {
          models: [{ name: 'models/gemini-2.5-flash', displayName: 'Flash', supportedGenerationMethods }],
        })
      } else if (pathname.startsWith('/upload/') && !asked.url.searchParams.has('upload_id')) {
        number += 1
        const address = `${origin}/upload/v1beta/files?upload_id=u${number}&upload_protocol=resumable`
        answer.json(200, {}, { 'x-goog-upload-url': address, 'x-goog-upload-status': 'active' })
      } else if (pathname.startsWith('/upload/')) {
        answer.json(200, { file: file(`f${number}`, origin) }, { 'x-goog-upload-status': 'final' })
      } else if (/^\/v1(?:beta)?\/files\//.test(pathname))
        answer.json(200, asked.method === 'DELETE' ? {} : file(pathname.split('/')[3] ?? '', origin))
      else answer.json(404, { error: { code: 404, message: pathname, status: 'NOT_FOUND' } })
    },
  }
}

function generate(model: string, isStream: boolean, { url, body }: Asked, answer: Answer): void {
  answer.reports(model)
  const usageMetadata = {
    promptTokenCount: REPORTED.input,
    candidatesTokenCount: REPORTED.output,
    totalTokenCount: REPORTED.input + REPORTED.output,
  }
  const call = { functionCall: { name: TOOL.name, args: TOOL.arguments } }
  const piece = (part: object, finishReason?: string) => ({
    candidates: [{ content: { role: 'model', parts: [part] }, finishReason, index: 0 }],
    usageMetadata,
    modelVersion: model,
    responseId: 'r1',
  })
  const whole = piece(body.includes(ASKS_FOR_TOOL) ? call : { text: TEXT }, 'STOP')
  if (!isStream) answer.json(200, whole)
  else if (body.includes(ASKS_FOR_TOOL)) answer.stream('text/event-stream', sse([whole]))
  else if (url.searchParams.get('alt') === 'sse') {
    const pieces = [piece({ text: 'Hello' }), piece({ text: ' there' }), piece({ text: '.' }, 'STOP')]
    answer.stream('text/event-stream', sse(pieces))
  } else answer.json(200, [whole])
}
