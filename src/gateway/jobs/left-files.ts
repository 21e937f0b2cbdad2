import { objectIn, textIn } from '../../providers/reading/json-value.ts'
import type { Provider } from '../../providers/registry.ts'
import { compileProjection, JsonScanner } from '../../providers/wires/json.ts'
import type { Upstream } from '../routing/upstream-table.ts'
import { ask } from './fetch-job.ts'

const FILE = compileProjection({ purpose: 'value' })
/** The purposes of files that a batch leaves, where they are apart from those that it reads. */
const LEFT: Partial<Record<Provider, RegExp>> = {
  openai: /^batch_output$/,
  'azure-openai': /^batch_output$/,
}
const OF_BATCHES = /batch/

/**
 * Asks the upstream whether a batch may have left this file: not one that is not there, or that says another purpose.
 *
 * @throws As `ask` does.
 */
export async function mayBeLeft(at: Upstream, path: string, timeoutMs: number): Promise<boolean> {
  const scanner = new JsonScanner(FILE)
  const written = path.split('/').map(encodeURIComponent).join('/')
  const { status } = await ask({ ...at, timeoutMs }, written, '', (chunk) => scanner.push(chunk))
  if (status === 404) return false
  const purpose = textIn(objectIn(scanner.extracted.value)?.purpose)
  return purpose === null || (LEFT[at.provider] ?? OF_BATCHES).test(purpose)
}
