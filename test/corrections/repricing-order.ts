import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadPriceConfig } from '../../src/config/yaml/price-config.ts'
import type { RepriceOrder } from '../../src/corrections/reprice.ts'

/** A repricing of a model to these USD a million prompt tokens and generated ones; equal in every process. */
export function orderTo(model: string, since: string, [input, output] = ['1', '2']): RepriceOrder {
  const folder = mkdtempSync(join(tmpdir(), 'tallygate-test-order-'))
  const file = join(folder, 'tallygate.yaml')
  writeFileSync(file, `prices:\n  - { model: ${model}, input: '${input}', output: '${output}' }\n`)
  try {
    const config = loadPriceConfig({ TALLYGATE_CONFIG: file, UPSTREAM_URL: 'https://api.openai.com' })
    return {
      scope: { model, provider: null, since },
      catalog: config.catalog,
      entries: config.source.entries,
      catalogText: config.source.text(),
      settings: config.settings,
      who: 'ann',
      why: 'test',
      dryRun: false,
      hasPrice: true,
      leaveOut: false,
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
