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
  await mock.start()
  return mock
}
