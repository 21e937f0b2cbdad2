import { afterAll } from 'vitest'
import { startUpstream, type TestUpstream } from '../upstream.ts'
import { type StackOptions, startStack, type TestStack } from './stack.ts'

/** An upstream with a gateway and a worker before it, for all tests of a file: its last test ends them. */
export async function startOwnStack(
  options: StackOptions = {},
): Promise<{ readonly upstream: TestUpstream; readonly stack: TestStack }> {
  const upstream = await startUpstream()
  afterAll(() => upstream.close())
  const stack = await startStack(upstream.url, options)
  afterAll(() => stack.stop())
  return { upstream, stack }
}
