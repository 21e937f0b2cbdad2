import { constants, inflateSync } from 'node:zlib'

/** Larger files are not looked through. */
const MOST_BYTES = 16 * 1024 * 1024
const MOST_STREAMS = 16
const MOST_INFLATED_BYTES = 1024 * 1024

const PAGE = /\/Type\s*\/Page(?![A-Za-z])/g
const OBJECTS = /\/Type\s*\/ObjStm[\s\S]{0,400}?stream\r?\n/g
/** A file that is made for slow lines says it at its beginning. */
const AT_ONCE = /\/Linearized[^>]{0,200}\/N\s+(\d+)/

/** How many pages a PDF has, by the objects in it. `null`: it is none, or does not say. */
export function pdfPages(file: Buffer): number | null {
  if (file.length > MOST_BYTES || !file.subarray(0, 1024).includes('%PDF-')) return null
  const text = file.toString('latin1')
  const said = Number(AT_ONCE.exec(text.slice(0, 2048))?.[1] ?? 0)
  const pages = said || pagesIn(text) || pagesInStreams(file, text)
  return pages > 0 ? pages : null
}

function pagesIn(text: string): number {
  return text.match(PAGE)?.length ?? 0
}

/** Objects may be kept together, compressed. */
function pagesInStreams(file: Buffer, text: string): number {
  let pages = 0
  for (const found of [...text.matchAll(OBJECTS)].slice(0, MOST_STREAMS)) {
    const start = found.index + found[0].length
    try {
      const objects = inflateSync(file.subarray(start), {
        maxOutputLength: MOST_INFLATED_BYTES,
        finishFlush: constants.Z_SYNC_FLUSH,
      })
      pages += pagesIn(objects.toString('latin1'))
    } catch {
      // Encrypted, or no PDF at all.
    }
  }
  return pages
}
