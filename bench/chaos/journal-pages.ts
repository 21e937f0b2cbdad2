import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

export const PAGE_BYTES = 4_096

/** A page of `calls` that holds rows. */
export interface LeafPage {
  /** From 1. */
  readonly number: number
  readonly sequences: readonly number[]
}

/** Moves the WAL of a dead producer's journal into its database, as its adopter would. */
export function checkpointDead(path: string): void {
  const database = new DatabaseSync(path)
  database.exec('pragma wal_checkpoint(truncate)')
  database.close()
}

/** The pages that hold the rows of `calls`, in the order of their sequences. Everything is in the database file. */
export function leafPagesOfCalls(path: string): LeafPage[] {
  const database = new DatabaseSync(path, { readOnly: true })
  const rows = database
    .prepare("select pageno from dbstat where name = 'calls' and pagetype = 'leaf' order by path")
    .all()
  database.close()
  const file = openSync(path, 'r')
  try {
    return rows.map(({ pageno }) => {
      const page = Buffer.alloc(PAGE_BYTES)
      readSync(file, page, 0, PAGE_BYTES, (Number(pageno) - 1) * PAGE_BYTES)
      return { number: Number(pageno), sequences: rowidsOf(page) }
    })
  } finally {
    closeSync(file)
  }
}

export function writePage(path: string, number: number, content: Buffer): void {
  const file = openSync(path, 'r+')
  writeSync(file, content, 0, PAGE_BYTES, (number - 1) * PAGE_BYTES)
  closeSync(file)
}

const CELL_COUNT_AT = 3
const CELL_POINTERS_AT = 8

/** Of a table's leaf; https://www.sqlite.org/fileformat2.html#b_tree_pages */
function rowidsOf(page: Buffer): number[] {
  return Array.from({ length: page.readUInt16BE(CELL_COUNT_AT) }, (_, index) => {
    const cellAt = page.readUInt16BE(CELL_POINTERS_AT + 2 * index)
    const payloadBytes = readVarint(page, cellAt)
    return readVarint(page, payloadBytes.end).value
  }).sort((left, right) => left - right)
}

function readVarint(page: Buffer, at: number): { readonly value: number; readonly end: number } {
  let value = 0
  for (let index = at; ; index += 1) {
    const byte = page.readUInt8(index)
    value = value * 128 + (byte & 0x7f)
    if (byte < 0x80) return { value, end: index + 1 }
  }
}
