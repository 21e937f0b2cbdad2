import { expect, test } from 'vitest'
import { type ErrorShape, errorBody, errorHeadersIn, errorStatus } from '../../src/http/error-shape.ts'
import { ERROR_NAMES } from '../../src/http/errors.ts'

const SHAPES = {
  openai: true,
  anthropic: true,
  google: true,
  aws: true,
  ollama: true,
  message: true,
  xai: true,
  json_rpc: true,
} satisfies Record<ErrorShape, true>

test.each(
  Object.keys(SHAPES) as readonly ErrorShape[],
)('every error as libraries of %s read it', async (shape) => {
  const written = ERROR_NAMES.map((name) => {
    const headers = Object.entries(errorHeadersIn(shape, name)).map(
      ([header, value]) => `${header}: ${value}`,
    )
    return [
      `# ${name}: ${errorStatus(shape, name)}`,
      ...headers,
      JSON.stringify(errorBody(shape, name)),
    ].join('\n')
  })
  await expect(`${written.join('\n\n')}\n`).toMatchFileSnapshot(`errors/${shape}.golden.txt`)
})
