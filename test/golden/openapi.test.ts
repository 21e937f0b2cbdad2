import { expect, test } from 'vitest'
import { buildOpenApi } from '../../src/operator/openapi/document.ts'

test('the description of all operations', async () => {
  const document = buildOpenApi({ baseUrl: 'http://localhost:8080', version: '1.2.3' })
  await expect(`${JSON.stringify(document, null, 1)}\n`).toMatchFileSnapshot('openapi.golden.txt')
})
