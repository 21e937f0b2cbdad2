import { once } from 'node:events'
import { createReadStream, createWriteStream } from 'node:fs'
import { access, constants, rename, rm, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { reasonOf } from '../../lib/reason-of.ts'
import { Failure } from '../../operations/failure.ts'

/** The standard output or input, in place of a file. */
export const STANDARD = '-'

/**
 * Writes a packed file that only its owner may read: it gets its name when it is whole and on the disk.
 *
 * @param fill Is given where the parts go.
 * @throws {Failure} When the file cannot be written.
 */
export async function writeArchiveFile<Result>(
  file: string,
  fill: (write: (part: Buffer) => Promise<void>) => Promise<Result>,
): Promise<Result> {
  if (file === STANDARD && process.stdout.isTTY)
    throw new Failure('a terminal cannot show a backup: name a file, or send it into one')
  const part = `${file}.part`
  if (file !== STANDARD) await rm(part, { force: true }).catch(() => {})
  const gzip = createGzip()
  const out =
    file === STANDARD ? process.stdout : createWriteStream(part, { mode: 0o600, flags: 'wx', flush: true })
  const written = pipeline(gzip, out).catch((error: unknown) => {
    throw new Failure(`${file} cannot be written: ${reasonOf(error)}`)
  })
  written.catch(() => {})
  try {
    const result = await fill(async (bytes) => {
      if (!gzip.write(bytes)) await Promise.race([once(gzip, 'drain').catch(() => written), written])
    })
    gzip.end()
    await written
    if (file !== STANDARD) await rename(part, file)
    return result
  } catch (error) {
    gzip.destroy()
    if (file !== STANDARD) await rm(part, { force: true }).catch(() => {})
    throw error
  }
}

/** The unpacked bytes of a file. Reading them rejects where it is damaged. */
export async function openArchiveFile(file: string): Promise<AsyncIterable<Buffer>> {
  if (file !== STANDARD)
    await access(file, constants.R_OK).catch((error: unknown) => {
      throw new Failure(`${file} cannot be read: ${reasonOf(error)}`)
    })
  const gunzip = createGunzip()
  // What fails ends the unpacking, too.
  pipeline(file === STANDARD ? process.stdin : createReadStream(file), gunzip).catch(() => {})
  return gunzip
}

/** In bytes; `null`: the standard output. */
export async function sizeOfArchive(file: string): Promise<number | null> {
  return file === STANDARD ? null : (await stat(file)).size
}
