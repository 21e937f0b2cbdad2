import { mkdir, open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Command } from 'commander'
import { readCatalogText } from '../../config/catalog-package.ts'
import { ConfigError } from '../../config/config-error.ts'
import { type CurrentCatalog, catalogFileOf, readCurrentCatalog } from '../../config/current-catalog.ts'
import { readVariable } from '../../config/environment.ts'
import { bundledEntries } from '../../domain/catalog-bundle.ts'
import { type CatalogChange, catalogChanges } from '../../domain/catalog-changes.ts'
import type { CatalogEntries } from '../../domain/catalog-entries.ts'
import { readCatalogFile } from '../../domain/catalog-file.ts'
import { type Cli, Failure } from '../cli.ts'
import { reasonOf } from '../explain-error.ts'
import { renderTable } from '../table.ts'

/** `prices update`: takes a newer price catalog, and shows what changes. */
export function addPricesUpdateCommand(prices: Command, cli: Cli): void {
  prices
    .command('update')
    .description('take a newer catalog of prices, and show what changes')
    .argument('<path>', "genai-prices' data.json, or the folder of its unpacked package")
    .option('--dry-run', 'only show what would change')
    .action(async (path: string, { dryRun = false }: { readonly dryRun?: boolean }) => {
      const dataDir = readVariable(cli.env, 'TALLYGATE_DATA_DIR') ?? ''
      const current = readCurrentOrNull(dataDir)
      const { text, entries } = readNewer(path)
      const changes = catalogChanges(current?.entries ?? bundledEntries(), entries)
      const file = catalogFileOf(dataDir)
      const isNew = current === null || current.file === null || current.text !== text
      if (!dryRun && isNew) await replaceFile(file, text)
      const from = current?.entries.source ?? 'a file that cannot be read'
      const summary = { from, to: entries.source, file, stored: !dryRun && isNew }
      cli.print({ ...summary, changes }, textOf(summary, changes, dryRun))
    })
}

/** `null`: there is a file, and it is broken; a newer one mends that. */
function readCurrentOrNull(dataDir: string): CurrentCatalog | null {
  try {
    return readCurrentCatalog(dataDir)
  } catch (error) {
    if (error instanceof ConfigError) return null
    throw error
  }
}

function readNewer(path: string): { readonly text: string; readonly entries: CatalogEntries } {
  let text: string
  try {
    text = readCatalogText(path)
  } catch (error) {
    throw new Failure(`${path} cannot be read: ${reasonOf(error)}`)
  }
  const { entries, problems } = readCatalogFile(text)
  if (entries !== null) return { text, entries }
  const shown = problems.slice(0, SHOWN_PROBLEMS).join('; ')
  const others = problems.length > SHOWN_PROBLEMS ? `; and ${problems.length - SHOWN_PROBLEMS} more` : ''
  throw new Failure(`nothing is changed: ${path} is no catalog: ${shown}${others}`)
}

const SHOWN_PROBLEMS = 5
const SHOWN_CHANGES = 60

/** A gateway that starts meanwhile finds the old catalog or the new one, never half of it. */
async function replaceFile(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const unfinished = `${file}.new`
  const handle = await open(unfinished, 'w', 0o644)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(unfinished, file)
}

interface Summary {
  readonly from: string
  readonly to: string
  readonly file: string
  readonly stored: boolean
}

function textOf(
  { from, to, file, stored }: Summary,
  changes: readonly CatalogChange[],
  dryRun: boolean,
): string {
  const shown = changes.slice(0, SHOWN_CHANGES)
  const table = renderTable(
    ['PROVIDER', 'MODEL', 'WHAT', 'BEFORE', 'AFTER'].map((heading) => ({ heading })),
    shown.map(({ provider, model, what, before, after }) => [
      provider,
      model,
      what,
      before ?? '-',
      after ?? '-',
    ]),
  )
  const more = changes.length > shown.length ? [`and ${changes.length - shown.length} more: see --json`] : []
  const done = stored
    ? `${from} -> ${to}, in ${file}. Gateways take it when they get SIGHUP, or start anew.`
    : dryRun
      ? `${from} -> ${to}: nothing is written.`
      : `${to} is the catalog already.`
  return [...(changes.length === 0 ? ['No price changes.'] : [table, ...more]), '', done].join('\n')
}
