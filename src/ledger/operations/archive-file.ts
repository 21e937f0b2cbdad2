import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { access, constants, open, rename, rm, stat } from 'node:fs/promises'
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
  const refuse = (error: unknown): never => {
    throw new Failure(`${file} cannot be written: ${reasonOf(error)}`)
  }
  const part = file === STANDARD ? null : await createPart(`${file}.part`).catch(refuse)
  const gzip = createGzip()
  const out = part === null ? process.stdout : part.handle.createWriteStream({ flush: true })
  const written = pipeline(gzip, out).catch(refuse)
  written.catch(() => {})
  try {
    const result = await fill(async (bytes) => {
      if (!gzip.write(bytes)) await Promise.race([once(gzip, 'drain').catch(() => written), written])
    })
    gzip.end()
    await written
    if (part === null) return result
    if (!(await part.isOwn()))
      throw new Failure(`${file} is not written: another backup began to write it meanwhile`)
    await rename(part.name, file)
    return result
  } catch (error) {
    gzip.destroy()
    if (part !== null && (await part.isOwn())) await rm(part.name, { force: true }).catch(() => {})
    throw error
  }
}

/** A new file in the place of one that a killed backup left. Another backup may do the same with this one. */
async function createPart(name: string) {
  await rm(name, { force: true })
  const handle = await open(name, 'wx', 0o600)
  const { ino } = await handle.stat()
  const isOwn = () =>
    stat(name).then(
      (found) => found.ino === ino,
      () => false,
    )
  return { name, handle, isOwn }
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
