import { stopBehindFile } from '../leave-nothing.ts'
import { startUpstream, type TestUpstream } from '../upstream.ts'
import { type StackOptions, startStack, type TestStack } from './stack.ts'

/** An upstream with a gateway and a worker before it, for all tests of a file: its last test ends them. */
export async function startOwnStack(
  options: StackOptions = {},
): Promise<{ readonly upstream: TestUpstream; readonly stack: TestStack }> {
  const upstream = await startUpstream()
  stopBehindFile(() => upstream.close())
  const stack = await startStack(upstream.url, options)
  stopBehindFile(() => stack.stop())
  return { upstream, stack }
}
