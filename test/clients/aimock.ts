import { buffer } from 'node:stream/consumers'
import { LLMock } from '@copilotkit/aimock'

/** What the mock reports for every call of a model: the figures that the gateway has to arrive at. */
export const REPORTED = { input: 23, output: 17 }

/** A mock provider made by others, answering every prompt, streamed or not. */
export async function startAimock(): Promise<LLMock> {
  const mock = new LLMock({ port: 0 })
  mock.addFixture({
    match: {},
    response: {
      content: 'The meter runs, and every token of this answer is counted exactly once.',
      usage: {
        prompt_tokens: REPORTED.input,
        completion_tokens: REPORTED.output,
        input_tokens: REPORTED.input,
        output_tokens: REPORTED.output,
      },
    },
  })
  // Its own embeddings report no tokens.
  mock.mount('/v1/embeddings', {
    async handleRequest(request, response) {
      request.resume()
      const embedding = Array.from({ length: 64 }, (_, index) => index / 64)
      const body = {
        object: 'list',
        model: 'text-embedding-3-small',
        data: [0, 1].map((index) => ({ object: 'embedding', index, embedding })),
        usage: { prompt_tokens: REPORTED.input, total_tokens: REPORTED.input },
      }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(body))
      return true
    },
  })
  // And it has nothing for forms. As OpenAI's, the answers do not name the model.
  answerForms(mock, '/v1/audio/transcriptions', {
    text: 'Four seconds.',
    usage: { type: 'duration', seconds: 4 },
  })
  answerForms(mock, '/v1/images/edits', {
    data: [{ b64_json: 'AAAA' }],
    usage: { input_tokens: 221, output_tokens: 415, total_tokens: 636 },
  })
  await mock.start()
  return mock
}

function answerForms(mock: LLMock, path: string, answer: object): void {
  mock.mount(path, {
    async handleRequest(request, response) {
      const type = request.headers['content-type'] ?? ''
      const form = await new Response(await buffer(request), { headers: { 'content-type': type } }).formData()
      const isWhole = form.get('model') !== null && (form.get('file') ?? form.get('image')) instanceof File
      response.writeHead(isWhole ? 200 : 400, { 'content-type': 'application/json' })
      response.end(JSON.stringify(answer))
      return true
    },
  })
}
