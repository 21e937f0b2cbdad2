import { mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { isMissingFile } from '../../lib/missing-file.ts'
import { type PriceCatalogKind, sha256Of } from '../sources/price-catalog-source.ts'
import type { KeptCatalog } from './stored-prices.ts'

/** Where a gateway keeps the last prices that it took from Postgres, for when it starts while Postgres is away. */
export function keptFileOf(dataDir: string, kind: PriceCatalogKind): string {
  return join(dataDir, `prices-${kind}.json`)
}

const keptShape = z.object({
  source: z.string().min(1),
  fetchedAt: z.iso.datetime().transform((text) => new Date(text)),
  sha256: z.string(),
  text: z.string(),
})

/**
 * Writes it whole or not at all, and on disk: several processes may do so at once, and any may be killed.
 *
 * @throws When the folder cannot be written.
 */
export async function writeKept(dataDir: string, kind: PriceCatalogKind, kept: KeptCatalog): Promise<void> {
  const { source, fetchedAt, text } = kept
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const file = keptFileOf(dataDir, kind)
  // Gateways in containers share the folder, and each of them is process 1.
  const unfinished = `${file}.${hostname()}.${process.pid}.new`
  try {
    const handle = await open(unfinished, 'w', 0o644)
    try {
      const written = { source, fetchedAt: fetchedAt.toISOString(), sha256: sha256Of(text), text }
      await handle.writeFile(JSON.stringify(written))
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(unfinished, file)
  } catch (error) {
    await rm(unfinished, { force: true })
    throw error
  }
  const folder = await open(dataDir, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/**
 * What was kept last; `null`: nothing.
 *
 * @throws When there is something that is not what was written.
 */
export async function readKept(dataDir: string, kind: PriceCatalogKind): Promise<KeptCatalog | null> {
  const file = keptFileOf(dataDir, kind)
  let written: string
  try {
    written = await readFile(file, 'utf8')
  } catch (error) {
    if (isMissingFile(error)) return null
    throw error
  }
  const { sha256, ...kept } = keptShape.parse(JSON.parse(written))
  if (sha256Of(kept.text) !== sha256) throw new Error(`${file} is not what was written`)
  return kept
}
